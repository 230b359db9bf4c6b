// SPDX-License-Identifier: Apache-2.0
import RequirementTrait
import Testing

@testable import StrataKit

@Suite("metadata of a conversation, as an app reads it")
struct MetadataTests {
    private let metadata: Metadata = ["title": "Lunch", "theme": ["background_color": "FFFFFF", "text_color": "000000"], "12345": ["name": "a"]]

    @Test("a key and a key path find their text, numbers among the keys too", .proves("META-4", "META-5"))
    func reading() {
        #expect(metadata["title"] == "Lunch")
        #expect(metadata[path: "theme.background_color"] == "FFFFFF")
        #expect(metadata[path: "12345.name"] == "a")
    }

    @Test("what is absent, and what is a group, has no text", .proves("META-4"))
    func absent() {
        #expect(metadata["other"] == nil)
        #expect(metadata["theme"] == nil)
        #expect(metadata[path: "theme.other"] == nil)
        #expect(metadata[path: "title.below"] == nil)
    }

    @Test("a tree and back is the same, but for empty groups")
    func tree() {
        #expect(Metadata(metadata.tree) == metadata)
        #expect(Metadata((["a": [:]] as Metadata).tree).isEmpty)
        #expect(metadata.flattened["theme.text_color"] == "000000")
    }
}
