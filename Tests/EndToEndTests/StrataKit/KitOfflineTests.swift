// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Changes made without a connection are sent later, exactly once.
    @Suite("StrataKit: offline")
    struct KitOfflineTests {
        @Test(
            "a conversation created, filled and changed offline exists once after a restart with a connection",
            .proves("SYNC-12", "SYNC-13", "STORE-4", "STORE-5", "OFF-1", "OFF-2", "OFF-5", "CLNT-6"))
        func restart() async throws {
            let app = try await Cluster.shared().app()
            let folder = try KitUser.folder("restart")
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let cleo = try await KitUser.signIn("cleo", to: app)
            let id = try await offline(app, folder, ben.id, cleo.id)
            // The first client ends abruptly, like a killed app.
            let ana = KitUser(name: "ana", client: try KitUser.client(of: app, "ana", folder: folder))
            #expect(try await ana.texts(in: id) == ["one", "two", "three"])
            #expect(await ana.client.pendingChangeCount > 0)
            try await ana.connect()
            try await ana.isIdle()
            for user in [ana, ben, cleo] {
                try await user.until("has everything once") { client in
                    let chat = try await client.conversation(id)
                    return chat?.metadata.flattened == ["title": "Trip", "city": "Porto"]
                        && chat?.participantIDs == [ana.id, ben.id, cleo.id]
                        && chat?.totalMessageCount == 3
                }
            }
            try await ben.until("all messages") { try await $0.messages(in: id).count == 3 }
            #expect(try await ben.texts(in: id) == ["one", "two", "three"])
        }

        private func offline(
            _ app: TestApp, _ folder: URL, _ ben: UserID, _ cleo: UserID
        ) async throws -> ConversationID {
            let ana = try await KitUser.signIn("ana", to: app, folder: folder)
            await ana.client.disconnect()
            let chat = try await ana.client.newConversation(
                with: [ben], options: .init(isDistinct: false, metadata: ["title": "Trip"]))
            try await chat.send(ana.client.newMessage(parts: [.text("one")]))
            try await chat.addParticipants([cleo])
            try await chat.send(ana.client.newMessage(parts: [.text("two")]))
            try await chat.setMetadata("Porto", at: "city")
            try await chat.send(ana.client.newMessage(parts: [.text("three")]))
            let shown = try #require(try await ana.client.conversation(chat.id))
            #expect(shown.participantIDs.contains(cleo))
            #expect(shown.totalMessageCount == 3)
            #expect(shown.lastMessage?.isSent == false)
            return chat.id
        }

        @Test(
            "a client catches up with changes missed while offline, in order and once",
            .proves("SYNC-2", "SYNC-5", "SYNC-60", "SYNC-73", "CLNT-3"))
        func catchUp() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id])
            try await chat.send(ana.client.newMessage(parts: [.text("0")]))
            try await ben.sees(["0"], in: chat.id)
            await ben.client.disconnect()
            for number in 1..<150 { try await chat.send(ana.client.newMessage(parts: [.text("\(number)")])) }
            try await chat.setMetadata("new", at: "title")
            try await ana.isIdle()
            try await ben.connect()
            #expect(try await ben.texts(in: chat.id) == (0..<150).map(String.init))
            #expect(try await ben.client.conversation(chat.id)?.metadata["title"] == "new")
            try await ben.until("has 150 unread messages") { client in
                try await client.conversation(chat.id)?.totalUnreadMessageCount == 150
            }
        }

        @Test(
            "two users who create the same distinct conversation offline share one, with both messages and both metadata",
            .proves("CONV-11", "CONV-12", "CONV-13", "CONV-14", "CONV-31", "CONV-32"))
        func distinct() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            await ana.client.disconnect()
            await ben.client.disconnect()
            let one = try await ana.client.newConversation(
                with: [ben.id], options: .init(metadata: ["ana": "1", "same": "a"]))
            let two = try await ben.client.newConversation(
                with: [ana.id], options: .init(metadata: ["ben": "2", "same": "b"]))
            try await one.send(ana.client.newMessage(parts: [.text("from ana")]))
            try await two.send(ben.client.newMessage(parts: [.text("from ben")]))
            try await ana.connect()
            try await ana.isIdle()
            try await ben.connect()
            try await ben.isIdle()
            try await ana.until("both messages") { try await $0.messages(in: one.id).count == 2 }
            // The id that ben's app holds still finds the conversation (an alias).
            let found = try #require(try await ben.client.conversation(two.id))
            #expect(found.id == one.id)
            #expect(found.metadata.flattened == ["ana": "1", "ben": "2", "same": "b"])
            try await ben.sees(["from ana", "from ben"], in: two.id)
            try await ana.until("the same metadata") { try await $0.conversation(one.id)?.metadata == found.metadata }
            let error = await #expect(throws: StrataError.self) { try await ben.client.newConversation(with: [ana.id]) }
            #expect(error?.code == .distinctConversationExists)
            #expect(error?.existing == one.id)
            #expect(try await ben.client.findOrCreate(with: [ana.id]).id == one.id)
            let other = try await ben.client.newConversation(with: [ana.id], options: .init(isDistinct: false))
            #expect(other.id != one.id)
        }

        @Test(
            "a refused change is reverted and reported, and a refused message is kept and marked as failed",
            .proves("OFF-6", "ERR-3", "SYNC-20", "CONV-44"))
        func refused() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id], options: .init(isDistinct: false))
            try await chat.send(ana.client.newMessage(parts: [.text("first")]))
            try await ben.sees(["first"], in: chat.id)
            await ben.client.disconnect()
            let bensChat = try #require(try await ben.client.conversation(chat.id))
            try await bensChat.setMetadata("late", at: "title")
            try await bensChat.send(ben.client.newMessage(parts: [.text("too late")]))
            try await chat.removeParticipants([ben.id])
            try await ana.isIdle()
            let events = ben.client.events
            try await ben.connect()
            try await within("both are reported") {
                var operations: Set<String> = []
                for await event in events {
                    if case .operationFailed(let failure) = event { operations.insert(failure.operation) }
                    if operations == ["setMetadata", "sendMessage"] { return }
                }
            }
            let messages = try await ben.client.messages(in: chat.id)
            #expect(messages.map(\.isSent) == [true, false])
            #expect(messages.last?.failure != nil)
            #expect(try await ben.client.conversation(chat.id)?.metadata.isEmpty == true)
            #expect(try await ben.client.conversation(chat.id)?.participants.isEmpty == true)
            #expect(try await ana.texts(in: chat.id) == ["first"])
            try await messages.last?.delete(.myDevices)
            #expect(try await ben.texts(in: chat.id) == ["first"])
            let failures = try await ben.client.unconfirmedFailures()
            #expect(Set(failures.map(\.operation)) == ["setMetadata", "sendMessage"])
            try await ben.client.confirmFailures([failures[0]])
            #expect(try await ben.client.unconfirmedFailures() == [failures[1]])
        }
    }
}
