// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("StrataKit: blocking")
    struct KitBlockTests {
        @Test(
            "a blocked user's messages reach no device, a shared conversation continues without them, and a new device has the block",
            .proves("POL-1", "POL-2", "POL-3"))
        func blocked() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1)
            let cleo = try await KitUser.signIn("cleo", to: app)
            let second = try await KitUser.signIn("ana", to: app, via: 1)
            let chat = try await ana.client.newConversation(with: [ben.id, cleo.id])
            try await chat.send(ana.client.newMessage(parts: [.text("1")]))
            for user in [ben, cleo, second] { try await user.sees(["1"], in: chat.id) }

            await ana.client.disconnect()
            try await ana.client.block([ben.id])
            #expect(try await ana.client.identity(of: ben.id).isBlocked)
            try await ana.connect()
            try await second.until("the other device knows") { try await $0.identity(of: ben.id).isBlocked }

            for (user, text) in [(ben, "2"), (cleo, "3")] {
                let shown = try #require(try await user.client.conversation(chat.id))
                try await shown.send(user.client.newMessage(parts: [.text(text)]))
                try await user.isIdle()
            }
            for user in [ana, second] { try await user.sees(["1", "3"], in: chat.id) }
            for user in [ben, cleo] { try await user.sees(["1", "2", "3"], in: chat.id) }

            let third = try await KitUser.signIn("ana", to: app)
            let blocked = Query<Identity>(where: { $0.isBlocked == true })
            #expect(try await third.client.execute(blocked).map(\.userID) == [ben.id])
            try await third.client.unblock([ben.id])
            try await ana.until("the block is over") { try await !$0.identity(of: ben.id).isBlocked }
            let again = try #require(try await ben.client.conversation(chat.id))
            try await again.send(ben.client.newMessage(parts: [.text("4")]))
            try await ana.sees(["1", "3", "4"], in: chat.id)
        }
    }
}
