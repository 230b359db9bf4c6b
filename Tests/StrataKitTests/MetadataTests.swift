// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

@Suite("metadata of a conversation in an app")
struct MetadataTests {
    private let metadata: Metadata = [
        "title": "Lunch", "theme": ["background_color": "FFFFFF", "text_color": "000000"], "12345": ["name": "a"],
    ]

    @Test("keys and key paths, also with numbers among the keys, return their text", .proves("META-4", "META-5"))
    func reading() {
        #expect(metadata["title"] == "Lunch")
        #expect(metadata[path: "theme.background_color"] == "FFFFFF")
        #expect(metadata[path: "12345.name"] == "a")
    }

    @Test("absent keys and groups have no text", .proves("META-4"))
    func absent() {
        #expect(metadata["other"] == nil)
        #expect(metadata["theme"] == nil)
        #expect(metadata[path: "theme.other"] == nil)
        #expect(metadata[path: "title.below"] == nil)
    }

    @Test("metadata survives a round trip through a tree, except for empty groups")
    func tree() {
        #expect(Metadata(metadata.tree) == metadata)
        #expect(Metadata((["a": [:]] as Metadata).tree).isEmpty)
        #expect(metadata.flattened["theme.text_color"] == "000000")
    }
}
