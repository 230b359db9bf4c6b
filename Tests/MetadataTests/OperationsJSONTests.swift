// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Metadata

@Suite("Operations and effects as JSON")
struct OperationsJSONTests {
    @Test("operations are written as the database reads them")
    func operations() {
        let text = OperationsJSON.encode([set("a", [("a.b", "1"), ("a.c", "\"\\\n\u{1f}ä")]), delete("x.y"), set("e", [])])
        #expect(
            text == #"[{"path":"a","set":[["a.b","1"],["a.c","\"\\\u000a\u001fä"]]},{"path":"x.y","delete":true},{"path":"e","set":[]}]"#)
        #expect(OperationsJSON.encode([]) == "[]")
    }

    @Test("effects are read as the database writes them")
    func effects() throws {
        let effects = try OperationsJSON.decodeEffects(#"[["a.b", null], ["c", ""], ["d", "\"ä\u0001"]]"#)
        #expect(effects.map(\.path.dotted) == ["a.b", "c", "d"])
        #expect(effects.map(\.value) == [nil, "", "\"ä\u{1}"])
        #expect(throws: (any Error).self) { try OperationsJSON.decodeEffects(#"[["a"]]"#) }
        #expect(throws: (any Error).self) { try OperationsJSON.decodeEffects(#"[[null, "v"]]"#) }
    }
}
