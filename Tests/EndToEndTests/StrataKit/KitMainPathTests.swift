// SPDX-License-Identifier: Apache-2.0

import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Two apps built with StrataKit exchange messages through the real services.
    @Suite("StrataKit: main path")
    struct KitMainPathTests {
        @Test(
            "a new conversation reaches the other participant with first message and metadata, and both stores are equal",
            .proves("CONV-1", "CONV-2", "CONV-6", "CONV-7", "CONV-8", "META-12", "META-36", "SYNC-1", "MSG-4"))
        func conversation() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(
                with: [ben.id], options: .init(metadata: ["title": "Lunch"]))
            #expect(try await ana.client.conversation(chat.id) == nil)
            try await chat.send(ana.client.newMessage(parts: [.text("Hi")]))
            try await ben.sees(["Hi"], in: chat.id)
            let seen = try #require(try await ben.client.conversation(chat.id))
            #expect(seen.metadata["title"] == "Lunch")
            #expect(seen.participantIDs == [ana.id, ben.id])
            #expect(seen.hasUnreadMessages)
            // The counts come in a separate packet after the message.
            try await ben.until("has one unread message") { client in
                try await client.conversation(chat.id)?.totalUnreadMessageCount == 1
            }
            try await ana.isIdle()
            let sent = try #require(try await ana.client.messages(in: chat.id).first)
            #expect(sent.isSent)
            #expect(sent.position != nil)
        }
    }
}
