// SPDX-License-Identifier: Apache-2.0
import StrataKit
import TestTiers
import Testing

/// Uses the public declarations only, like an app.
@Suite("reading metadata")
struct MetadataReadingTests {
    private func isWritable<Root, Value>(_ path: WritableKeyPath<Root, Value>) -> Bool { true }
    private func isWritable<Root, Value>(_ path: KeyPath<Root, Value>) -> Bool { false }

    @Test("an app can set neither a conversation's metadata nor its values directly", .proves("META-3"))
    func readOnly() {
        #expect(!isWritable(\StrataKit.Conversation.metadata))
        #expect(!isWritable(\Metadata.values))
        #expect(isWritable(\StrataKit.Conversation.isDistinct))
    }
}
