// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("StrataKit: presence")
    struct KitPresenceTests {
        /// Signs in Ana and Ben. Ben follows Ana because they share a conversation.
        private func scene(_ app: TestApp) async throws -> (ana: KitUser, ben: KitUser) {
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id])
            try await chat.send(ana.client.newMessage(parts: [.text("Hi")]))
            try await ben.sees(["Hi"], in: chat.id)
            return (ana, ben)
        }

        private func until(_ status: PresenceStatus, of user: KitUser, on other: KitUser) async throws {
            try await other.until("\(user.name) is \(status)") {
                try await $0.identity(of: user.id).presenceStatus == status
            }
        }

        @Test(
            "connecting makes a user available, others see each status, and an invisible user appears offline",
            .proves("PRES-1", "PRES-4"))
        func statuses() async throws {
            let (ana, ben) = try await scene(Cluster.shared().app())
            try await until(.available, of: ana, on: ben)
            for (choice, status) in [
                (PresenceChoice.busy, PresenceStatus.busy), (.away, .away), (.offline, .offline),
                (.available, .available),
            ] {
                try await ana.client.setPresence(choice)
                try await until(status, of: ana, on: ben)
            }
            try await ana.client.setPresence(.invisible)
            try await until(.offline, of: ana, on: ben)
            try await until(.invisible, of: ana, on: ana)
        }

        @Test("auto restores the user's last chosen status, also by connecting with another device", .proves("PRES-3"))
        func auto() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = try await scene(app)
            try await ana.client.setPresence(.busy)
            try await until(.busy, of: ana, on: ben)
            await ana.client.disconnect()
            #expect(await ana.client.authenticatedUser?.presenceStatus == .offline)
            let error = await #expect(throws: StrataError.self) { try await ana.client.setPresence(.away) }
            #expect(error?.code == .notConnected)
            try await until(.offline, of: ana, on: ben)
            let other = try await KitUser.signIn("ana", to: app)
            try await until(.busy, of: ana, on: ben)
            try await other.client.setPresence(.auto)
            try await until(.busy, of: other, on: other)
        }

        @Test(
            "a user is offline only when no device is connected; a device that vanishes is not connected",
            .proves("PRES-2", "PRES-4"))
        func devices() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = try await scene(app)
            try await until(.available, of: ana, on: ben)
            let proxy = try await KitUser.proxy(of: app)
            let other = KitUser(
                name: "ana", client: try KitUser.client(of: app, behind: proxy, folder: KitUser.folder("other")))
            try await other.client.connect()
            try await KitUser.signIn("ana", to: app, on: other.client)
            try await other.until("is connected") { await $0.connectionState == .connected }
            let changes = ben.client.objectChanges
            try await other.client.setPresence(.away)
            try await until(.available, of: ana, on: other)
            await ana.client.disconnect()
            try await until(.away, of: ana, on: ben)
            await proxy.close()
            try await until(.offline, of: ana, on: ben)
            #expect(try await ben.client.identity(of: ana.id).lastSeenAt != nil)
            var told: [(status: String, isLastSeenTold: Bool)] = []
            for await batch in changes {
                let updates = batch.compactMap { update(of: ana.id, $0) }
                guard let status = updates.first(where: { $0.name == "presenceStatus" })?.after else { continue }
                if case .text(let text) = status { told.append((text, updates.contains { $0.name == "lastSeenAt" })) }
                if told.last?.status == "offline" { break }
            }
            #expect(told.map(\.status) == ["away", "offline"])
            #expect(told.map(\.isLastSeenTold) == [false, true])
        }

        private func update(of user: UserID, _ change: ObjectChange) -> PropertyChange? {
            guard case .identity(let identity) = change.object, identity.userID == user,
                case .update(let property) = change.kind
            else { return nil }
            return property
        }
    }
}
