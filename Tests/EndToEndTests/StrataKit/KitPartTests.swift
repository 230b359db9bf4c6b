// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    @Suite("StrataKit: changed parts")
    struct KitPartTests {
        private static func shown(_ message: StrataKit.Message?) -> [String] {
            message?.parts.map { $0.text ?? $0.mimeType } ?? []
        }

        @Test(
            "changed parts reach all participants, with new content, also when changed offline",
            .proves("PART-10", "SYNC-13"))
        func changes() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (
                try await KitUser.signIn("ana", to: app), try await KitUser.signIn("ben", to: app, via: 1)
            )
            let chat = try await ana.client.newConversation(with: [ben.id])
            let id = try await ana.send([.text("one"), .text("two")], in: chat)
            let other = try await ben.receives(id)
            let error = await #expect(throws: StrataError.self) { try await other.add(.text("mine")) }
            #expect(error?.code == .invalidMessage)
            await ana.client.disconnect()
            let message = try await ana.receives(id)
            try await message.replace(message.parts[0], with: KitTransfers.image(5000))
            try await message.add(.text("three"))
            try await message.remove(message.parts[1])
            #expect(Self.shown(try await ana.client.message(id)) == ["image/png", "three"])
            try await ana.connect()
            try await ben.until("sees the changes") { Self.shown(try await $0.message(id)) == ["image/png", "three"] }
            let part = try await ben.part(0, of: id)
            #expect(part.id == message.parts[0].id)
            try await part.download()
            #expect(try await part.loadData() == KitTransfers.bytes(5000))
            try await message.replace(part, with: KitTransfers.image(5000, seed: 1))
            try await ben.until("sees the other picture") {
                try await $0.message(id)?.parts[0].contentID != part.contentID
            }
            try await ben.part(0, of: id).download()
            #expect(try await ben.part(0, of: id).loadData() == KitTransfers.bytes(5000, seed: 1))
            try await message.setParts([.text("all")])
            try await ben.until("sees one part") { Self.shown(try await $0.message(id)) == ["all"] }
            try await ana.isIdle()
            #expect(Self.shown(try await ana.client.message(id)) == ["all"])
            try await ana.diskIsEmpty()
        }

        @Test("the content of a part that is replaced while it waits to be sent leaves the disk")
        func replacedOffline() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (
                try await KitUser.signIn("ana", to: app), try await KitUser.signIn("ben", to: app, via: 1)
            )
            let chat = try await ana.client.newConversation(with: [ben.id])
            let id = try await ana.send([.text("one")], in: chat)
            try await ana.isIdle()
            await ana.client.disconnect()
            let message = try await ana.receives(id)
            try await message.replace(message.parts[0], with: KitTransfers.image(5000))
            try await message.setParts([.text("all")])
            #expect(await ana.client.currentDiskUtilization > 0)
            try await ana.connect()
            try await ben.until("sees the text") { Self.shown(try await $0.message(id)) == ["all"] }
            try await ana.isIdle()
            try await ana.diskIsEmpty()
        }
    }
}
