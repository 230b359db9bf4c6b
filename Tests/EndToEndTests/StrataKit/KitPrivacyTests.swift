// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Data that must not reach a device.
    @Suite("StrataKit: other users' data")
    struct KitPrivacyTests {
        @Test(
            "other users' conversations and announcements never arrive, at the first load, live, or after reconnecting",
            .proves("SYNC-6"))
        func others() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await talk(ana, ben, "first")
            let cleo = try await KitUser.signIn("cleo", to: app, policy: .completeHistory)
            try await talk(ana, ben, "second")
            try await announce("for ben", to: "ben", in: app, on: cluster)
            let own = try await talk(ana, cleo, "for cleo")
            try await cleo.sees(["for cleo"], in: own.id)
            await cleo.client.disconnect()
            try await chat.send(ana.client.newMessage(parts: [.text("third")]))
            try await announce("for cleo", to: "cleo", in: app, on: cluster)
            try await own.send(ana.client.newMessage(parts: [.text("also for cleo")]))
            try await ana.isIdle()
            try await cleo.connect()
            try await cleo.sees(["for cleo", "also for cleo"], in: own.id)
            try await cleo.until("the announcement") { try await $0.count(Query<Announcement>()) > 0 }
            #expect(try await cleo.client.identifiers(Query<StrataKit.Conversation>()) == [own.id])
            #expect(try await cleo.client.count(Query<Message>()) == 2)
            #expect(try await cleo.client.execute(Query<Announcement>()).map { $0.parts.first?.text } == ["for cleo"])
            try await ben.until("the announcement") {
                try await $0.execute(Query<Announcement>()).map { $0.parts.first?.text } == ["for ben"]
            }
        }

        @discardableResult
        private func talk(_ one: KitUser, _ other: KitUser, _ text: String) async throws -> StrataKit.Conversation {
            let chat = try await one.client.newConversation(with: [other.id], options: .init(isDistinct: false))
            try await chat.send(one.client.newMessage(parts: [.text(text)]))
            try await other.sees([text], in: chat.id)
            return chat
        }

        private func announce(_ text: String, to user: String, in app: TestApp, on cluster: Cluster) async throws {
            _ = try await cluster.announce(text, in: app, to: [user])
        }
    }
}
