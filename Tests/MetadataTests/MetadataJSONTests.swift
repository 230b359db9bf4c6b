// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import StrataModel
import Testing

@testable import Metadata

@Suite("Operations and effects as JSON")
struct MetadataJSONTests {
    @Test("operations are encoded in the database's format")
    func operations() {
        let text = MetadataJSON.encode([
            set("a", [("a.b", "1"), ("a.c", "\"\\\n\u{1f}ä")]), delete("x.y"), set("e", []),
        ])
        #expect(
            text
                == #"[{"path":"a","set":[["a.b","1"],["a.c","\"\\\u000a\u001fä"]]},{"path":"x.y","delete":true},{"path":"e","set":[]}]"#
        )
        #expect(MetadataJSON.encode([]) == "[]")
    }

    @Test("effects are decoded from the database's format")
    func effects() throws {
        let effects = try MetadataJSON.effects(#"[["a.b", null], ["c", ""], ["d", "\"ä\u0001"]]"#)
        #expect(effects.map(\.path.dotted) == ["a.b", "c", "d"])
        #expect(effects.map(\.value) == [nil, "", "\"ä\u{1}"])
        #expect(throws: (any Error).self) { try MetadataJSON.effects(#"[["a"]]"#) }
        #expect(throws: (any Error).self) { try MetadataJSON.effects(#"[[null, "v"]]"#) }
    }
}
