// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Joining, leaving, typing and waiting.
    @Suite("StrataKit: participants and waiting")
    struct KitMembershipTests {
        @Test(
            "an added user sees all history; a removed user keeps the past only; a re-added user has no gap",
            .proves("CONV-16", "CONV-17", "CONV-18", "CONV-19", "CONV-20", "CONV-21", "CONV-39", "CONV-40"))
        func comeAndGo() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let cleo = try await KitUser.signIn("cleo", to: app, policy: .completeHistory)
            let chat = try await ana.client.newConversation(with: [ben.id])
            for text in ["1", "2", "3"] { try await chat.send(ana.client.newMessage(parts: [.text(text)])) }
            try await chat.addParticipants([cleo.id])
            try await cleo.sees(["1", "2", "3"], in: chat.id)
            try await ben.until("cleo is in it") {
                try await $0.conversation(chat.id)?.participantIDs.contains(cleo.id) == true
            }
            #expect(try await ben.client.conversation(chat.id)?.isDistinct == false)
            let bensChat = try #require(try await ben.client.conversation(chat.id))
            try await bensChat.removeParticipants([cleo.id])
            try await cleo.until("is out") { try await $0.conversation(chat.id)?.participants.isEmpty == true }
            try await chat.send(ana.client.newMessage(parts: [.text("4")]))
            try await ben.until("4") { try await $0.messages(in: chat.id).last?.parts.first?.text == "4" }
            #expect(try await cleo.texts(in: chat.id) == ["1", "2", "3"])
            let gone = try #require(try await cleo.client.conversation(chat.id))
            let message = try cleo.client.newMessage(parts: [.text("may I?")])
            #expect(
                await #expect(throws: StrataError.self) { try await gone.send(message) }?.code == .userNotAParticipant)
            #expect(
                await #expect(throws: StrataError.self) { try await gone.setMetadata("x", at: "a") }?.code
                    == .userNotAParticipant)
            #expect(
                await #expect(throws: StrataError.self) { try await bensChat.removeParticipants([cleo.id]) }?.code
                    == .participantNotAParticipant)
            try await bensChat.addParticipants([cleo.id])
            try await cleo.sees(["1", "2", "3", "4"], in: chat.id)
        }

        @Test(
            "leaving removes the conversation from all own devices, and others see who has left",
            .proves("CONV-41", "DEL-1"))
        func leave() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let second = try await KitUser.signIn("ben", to: app)
            let chat = try await ana.client.newConversation(with: [ben.id], options: .init(isDistinct: false))
            try await chat.send(ana.client.newMessage(parts: [.text("Hi")]))
            try await ben.sees(["Hi"], in: chat.id)
            try await second.sees(["Hi"], in: chat.id)
            try await ben.client.conversation(chat.id)?.leave()
            #expect(try await ben.client.conversation(chat.id) == nil)
            try await second.until("is gone") { try await $0.conversation(chat.id) == nil }
            try await ana.until("ben is out") { try await $0.conversation(chat.id)?.participantIDs == [ana.id] }
        }

        @Test(
            "a conversation deleted from the own devices reappears with the next message",
            .proves("CONV-42", "DEL-3", "DEL-4"))
        func deleteAndReturn() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id], options: .init(metadata: ["title": "A"]))
            try await chat.send(ana.client.newMessage(parts: [.text("1")]))
            try await ben.sees(["1"], in: chat.id)
            try await ben.client.conversation(chat.id)?.delete(.myDevices)
            #expect(try await ben.client.conversation(chat.id) == nil)
            #expect(try await ben.texts(in: chat.id) == [])
            try await ben.isIdle()
            try await chat.send(ana.client.newMessage(parts: [.text("2")]))
            try await ben.sees(["2"], in: chat.id)
            #expect(try await ben.client.conversation(chat.id)?.metadata["title"] == "A")
            try await chat.delete(.allParticipants)
            try await ben.until("gone for all") { try await $0.conversation(chat.id) == nil }
        }

        @Test(
            "a typing indicator reaches online users and ends with the message",
            .proves("TYPE-1", "TYPE-2", "TYPE-3", "TYPE-5", "TYPE-6", "TYPE-7")
        )
        func typing() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id])
            try await chat.send(ana.client.newMessage(parts: [.text("Hi")]))
            try await ben.sees(["Hi"], in: chat.id)
            let indicators = ben.client.typingIndicators
            try await chat.sendTypingIndicator(.begin)
            try await within("ben sees ana type and stop") {
                var seen: [TypingAction] = []
                for await indicator in indicators {
                    #expect(indicator.conversationID == chat.id)
                    #expect(indicator.sender.userID == ana.id)
                    seen.append(indicator.action)
                    if seen == [.begin] { try await chat.send(ana.client.newMessage(parts: [.text("done")])) }
                    guard indicator.action == .finish else { continue }
                    if seen == [.begin, .finish] { return }
                    // On a busy machine the message may come after Ana's typing has already ended. Then Ana types
                    // again.
                    seen = []
                    try await chat.sendTypingIndicator(.begin)
                }
            }
        }

        @Test(
            "waiting for a remote object ends at its arrival, immediately if it exists, or at the timeout",
            .proves("SYNC-4", "SYNC-40", "SYNC-42", "SYNC-43", "SYNC-44", "SYNC-71"))
        func waiting() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let made = ConversationID.random()
            async let waited = ben.client.waitForCreation(of: made, timeout: .seconds(60))
            try await ana.does(
                "POST", "/conversations", ["id": .string(made.layerID), "participants": ["ben"], "distinct": false])
            #expect(try await waited.id == made)
            #expect(try await ben.client.waitForCreation(of: made, timeout: .zero).id == made)
            let message = MessageID.random()
            async let later = ben.client.waitForCreation(of: message, timeout: .seconds(60))
            try await ana.does("POST", "/conversations/\(made)/messages", TestUser.message("Hi", id: message.layerID))
            #expect(try await later.parts.first?.text == "Hi")
            let error = await #expect(throws: StrataError.self) {
                try await ben.client.waitForCreation(of: ConversationID.random(), timeout: .milliseconds(20))
            }
            #expect(error?.code == .asyncTimeout)
        }
    }
}
