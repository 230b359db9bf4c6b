// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Content of messages is transferred to the server and to other devices.
    @Suite("StrataKit: content")
    struct KitContentTests {
        private func code(_ body: () async throws -> Void) async -> StrataError.Code? {
            do { try await body() } catch { return (error as? StrataError)?.code }
            return nil
        }

        @Test(
            "content up to 2 KB is inline; larger content is uploaded first and downloaded by other devices on request",
            .proves("PART-2", "PART-4", "PART-5", "PART-9", "PROG-1"))
        func upAndDown() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (
                try await KitUser.signIn("ana", to: app), try await KitUser.signIn("ben", to: app, via: 1)
            )
            let chat = try await ana.client.newConversation(with: [ben.id])
            let (sent, received) = (ana.client.events, ben.client.events)
            let id = try await ana.send(
                [.text("look"), KitTransfers.image(100_000), KitTransfers.image(2048)], in: chat)
            let upload = try #require(try await KitTransfers.ended(1, in: sent).first)
            #expect(upload.transfer.direction == .upload && upload.transfer.part.index == 1 && upload.error == nil)
            #expect(upload.transfer.progress.completed == 100_000 && upload.transfer.progress.fraction == 1)
            #expect(try await ana.part(1, of: id).transferStatus == .complete)
            let parts = try await ben.receives(id).parts
            #expect(parts.map(\.transferStatus) == [.complete, .readyForDownload, .complete])
            #expect(parts.map { $0.contentID == nil } == [true, false, true])
            #expect(parts[2].data == KitTransfers.bytes(2048) && parts[1].data == nil && parts[1].fileURL == nil)
            let file = try await parts[1].download()
            #expect(try Data(contentsOf: file) == KitTransfers.bytes(100_000))
            let part = try await ben.part(1, of: id)
            #expect(part.transferStatus == .complete && part.fileURL == file && file.pathExtension == "png")
            let download = try #require(try await KitTransfers.ended(1, in: received).first)
            #expect(download.transfer.direction == .download && download.transfer.part == part && download.error == nil)
            #expect(download.transfer.progress.isFinished)
        }

        @Test(
            "content is purged and downloaded again, and impossible requests have an error with the reason",
            .proves("PART-6"))
        func purge() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (
                try await KitUser.signIn("ana", to: app), try await KitUser.signIn("ben", to: app, via: 1)
            )
            let chat = try await ana.client.newConversation(with: [ben.id])
            let id = try await ana.send([.text("look"), KitTransfers.image(5000)], in: chat)
            let parts = try await ben.receives(id).parts
            #expect(await code { try await parts[0].download() } == .contentInlined)
            #expect(await code { try await parts[0].purge() } == .contentInlined)
            #expect(await code { try await parts[1].purge() } == .contentAlreadyPurged)
            let file = try await parts[1].download()
            #expect(await code { try await parts[1].download() } == .contentAlreadyAvailable)
            try await parts[1].purge()
            #expect(!FileManager.default.fileExists(atPath: file.path(percentEncoded: false)))
            #expect(try await ben.part(1, of: id).transferStatus == .readyForDownload)
            try await parts[1].download()
            #expect(try await parts[1].loadData() == KitTransfers.bytes(5000))
            await ana.client.disconnect()
            let unsent = try await chat.send(ana.client.newMessage(parts: [KitTransfers.image(5000)]))
            #expect(await code { try await unsent.parts[0].purge() } == .objectNotSent)
            #expect(await code { try await unsent.parts[0].download() } == .contentAlreadyAvailable)
            // Content sent from this device can be purged and downloaded, too.
            let own = try await ana.part(1, of: id)
            try await own.purge()
            #expect(await code { try await own.download() } == .notConnected)
            try await ana.connect()
            try await own.download()
            #expect(try await own.loadData() == KitTransfers.bytes(5000))
        }

        @Test(
            "the app's options select automatic downloads, newest messages first; purged content is not downloaded again",
            .proves("PART-5", "PART-7"),
            .timeLimit(.minutes(2)))
        func byThemselves() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let chat = try await ana.client.newConversation(with: [UserID(trusted: "ben")])
            var texts: [MessageID] = []
            for letter in ["a", "b", "c"] {
                texts.append(try await ana.send([.text(String(repeating: letter, count: 3000))], in: chat))
            }
            let others = [
                try await ana.send([.text(String(repeating: "x", count: 5000))], in: chat),
                try await ana.send([KitTransfers.image(3000)], in: chat),
            ]
            let client = try KitUser.client(
                of: app, "ben", policy: .completeHistory, via: 1,
                content: ContentOptions(autodownloadMaximumContentSize: 4000))
            let events = client.events
            let ben = KitUser(name: "ben", client: client)
            try await client.connect()
            try await client.authenticate(
                identityToken: try await app.identityToken("ben", nonce: try await client.requestAuthenticationNonce()))
            let begun = try await KitTransfers.begun(3, in: events)
            for id in texts.reversed() + others { _ = try await ben.receives(id) }
            var expected: [UUID] = []
            for id in texts.reversed() { expected.append(try await ben.part(0, of: id).id) }
            #expect(begun == expected)
            try await ben.until("the texts are here") { [texts] client in
                for id in texts {
                    if try await client.message(id)?.parts[0].transferStatus != .complete { return false }
                }
                return true
            }
            try await ben.part(0, of: texts[1]).purge()
            await client.disconnect()
            try await ben.connect()
            let new = try await ana.send([.text(String(repeating: "d", count: 3000))], in: chat)
            try await ben.until("the new text is here") {
                try await $0.message(new)?.parts[0].transferStatus == .complete
            }
            for id in others + [texts[1]] { #expect(try await ben.part(0, of: id).transferStatus == .readyForDownload) }
        }

        @Test("content above the disk limit is evicted, least recently used first", .proves("PART-7"))
        func disk() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await KitUser.signIn("ana", to: app)
            let ben = try await KitUser.signIn("ben", to: app, via: 1, content: ContentOptions(diskCapacity: 250_000))
            let chat = try await ana.client.newConversation(with: [ben.id])
            var ids: [MessageID] = []
            for seed in 0..<3 { ids.append(try await ana.send([KitTransfers.image(100_000, seed: seed)], in: chat)) }
            for id in ids.prefix(2) { try await ben.receives(id).parts[0].download() }
            #expect(await ben.client.currentDiskUtilization == 200_000)
            _ = try await ben.part(0, of: ids[0]).loadData()
            try await ben.receives(ids[2]).parts[0].download()
            var statuses: [ContentTransferStatus] = []
            for id in ids { statuses.append(try await ben.part(0, of: id).transferStatus) }
            #expect(statuses == [.complete, .readyForDownload, .complete])
            #expect(await ben.client.currentDiskUtilization == 200_000)
        }
    }
}
