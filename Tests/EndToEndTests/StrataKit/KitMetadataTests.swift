// SPDX-License-Identifier: Apache-2.0

import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Concurrent metadata changes by several users.
    @Suite("StrataKit: metadata")
    struct KitMetadataTests {
        private func pair(
            _ metadata: Metadata = [:]
        ) async throws -> (ana: KitUser, ben: KitUser, chat: StrataKit.Conversation) {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id], options: .init(metadata: metadata))
            try await chat.send(ana.client.newMessage(parts: [.text("Hi")]))
            try await ben.sees(["Hi"], in: chat.id)
            try await ana.isIdle()
            return (ana, ben, chat)
        }

        @Test(
            "concurrent sets of different keys by two users both persist; concurrent sets of one key converge to one value",
            .proves("META-1", "META-6", "META-13", "META-33", "META-34"))
        func race() async throws {
            let (ana, ben, chat) = try await pair()
            let other = try #require(try await ben.client.conversation(chat.id))
            async let first: Void = chat.setMetadata("ana", at: "a.b")
            async let second: Void = other.setMetadata("ben", at: "a.c")
            _ = try await (first, second)
            for user in [ana, ben] {
                try await user.until("both keys") { client in
                    let metadata = try await client.conversation(chat.id)?.metadata
                    return metadata?[path: "a.b"] == "ana" && metadata?[path: "a.c"] == "ben"
                }
            }
            async let third: Void = chat.setMetadata("ana", at: "same")
            async let fourth: Void = other.setMetadata("ben", at: "same")
            _ = try await (third, fourth)
            try await ana.isIdle()
            try await ben.isIdle()
            try await eventually("both see the same value") {
                let values = [
                    try await ana.client.conversation(chat.id)?.metadata["same"],
                    try await ben.client.conversation(chat.id)?.metadata["same"],
                ]
                return values[0] == values[1] && values[0] != nil
            }
        }

        @Test(
            "a merge keeps all other keys, a replacement keeps none, and a deletion removes a path and everything below it",
            .proves("META-8", "META-9", "META-10", "META-11", "META-30", "META-31", "META-32", "META-37"))
        func mergeAndReplace() async throws {
            let (ana, ben, chat) = try await pair([
                "title": "Lunch", "theme": ["background_color": "FFFFFF", "text_color": "000000"],
                "participant": ["bob": ["role": "cook"]],
            ])
            func both(_ expected: Metadata) async throws {
                for user in [ana, ben] {
                    try await user.until("metadata \(expected.flattened)") {
                        try await $0.conversation(chat.id)?.metadata == expected
                    }
                }
            }
            try await chat.setMetadata(["theme": ["background_color": "111111"]], merge: true)
            try await both([
                "title": "Lunch", "theme": ["background_color": "111111", "text_color": "000000"],
                "participant": ["bob": ["role": "cook"]],
            ])
            try await chat.setMetadata(["link_color": "00FF00"] as Metadata, at: "theme")
            try await both([
                "title": "Lunch", "theme": ["link_color": "00FF00"], "participant": ["bob": ["role": "cook"]],
            ])
            try await chat.deleteMetadata(at: "participant", "absent.path")
            try await both(["title": "Lunch", "theme": ["link_color": "00FF00"]])
            try await chat.setMetadata(["subject": "Dinner"], merge: false)
            try await both(["subject": "Dinner"])
            try await chat.setMetadata("back", at: "title")
            try await both(["subject": "Dinner", "title": "back"])
        }

        @Test(
            "a value has at most 2,048 bytes, and keys with a space or an accent are refused without effect",
            .proves("META-7", "META-15", "META-16", "META-17", "META-39", "ERR-2"))
        func limits() async throws {
            let (ana, ben, chat) = try await pair()
            try await chat.setMetadata(String(repeating: "a", count: 2048), at: "long")
            await #expect(throws: StrataError.self) {
                try await chat.setMetadata(String(repeating: "a", count: 2049), at: "long")
            }
            for key in ["a key", "é", "", "a..b", ".a"] {
                let error = await #expect(throws: StrataError.self) { try await chat.setMetadata("value", at: key) }
                #expect(error?.code == .invalidKey, "\(key)")
            }
            try await chat.setMetadata("Bob", at: "my_app.user_info.12345.screen_name")
            try await ben.until("the deep key") {
                try await $0.conversation(chat.id)?.metadata[path: "my_app.user_info.12345.screen_name"] == "Bob"
            }
            #expect(try await ben.client.conversation(chat.id)?.metadata.flattened.count == 2)
            try await ana.isIdle()
        }
    }
}
