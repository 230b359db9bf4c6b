// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("StrataKit: identities and announcements")
    struct KitPeopleTests {
        private func announce(
            _ text: String, in app: TestApp, on cluster: Cluster, to user: String
        ) async throws -> AnnouncementID {
            let id = try JSONValue(parsing: try await cluster.announce(text, in: app, to: [user]))["id"].string ?? ""
            return try #require(AnnouncementID(parsing: id))
        }

        @Test(
            "an operator's announcement reaches its recipient, is in no conversation and never among messages",
            .proves("ANN-1", "SYNC-6"))
        func announcement() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let id = try await announce("Maintenance at noon", in: app, on: cluster, to: "ana")
            let announcement = try await ana.client.waitForCreation(of: id, timeout: .seconds(60))
            #expect(announcement.parts.first?.text == "Maintenance at noon")
            #expect(announcement.isUnread)
            #expect(try await ana.client.execute(Query<Announcement>()).map(\.id) == [id])
            #expect(try await ana.client.count(Query<Message>()) == 0)
            #expect(try await ana.client.count(Query<StrataKit.Conversation>()) == 0)
            let own = try await announce("For you", in: app, on: cluster, to: "ben")
            _ = try await ben.client.waitForCreation(of: own, timeout: .seconds(60))
            #expect(try await ben.client.identifiers(Query<Announcement>()) == [own])
        }

        @Test(
            "waiting for an identity ends when its operator data arrives, for followed users; other users stay unknown",
            .proves("IDN-4"))
        func identity() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            #expect(try await ana.client.identity(of: ben.id) == Identity(userID: ben.id))
            async let waited = ana.client.waitForCreation(of: ben.id, timeout: .seconds(60))
            try await ana.client.follow([ben.id])
            #expect(try await waited.displayName == "Ben")
            let nobody = UserID(trusted: "nobody")
            let chat = try await ana.client.newConversation(with: [nobody])
            try await chat.send(ana.client.newMessage(parts: [.text("Hi")]))
            try await ana.isIdle()
            let shown = try #require(
                try await ana.client.conversation(chat.id)?.participants.first { $0.userID == nobody })
            var expected = Identity(userID: nobody)
            (expected.isFollowed, expected.presenceStatus) = (shown.isFollowed, shown.presenceStatus)
            #expect(shown == expected)
        }
    }
}
