// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    /// Interrupted, cancelled and refused transfers of content.
    @Suite("StrataKit: interrupted content")
    struct KitInterruptionTests {
        /// A conversation of two users of an app. The second one is behind a proxy.
        private struct Scene {
            let ana: KitUser
            let ben: KitUser
            let proxy: CuttingProxy
            let chat: StrataKit.Conversation

            init(_ app: TestApp) async throws {
                proxy = try await KitUser.proxy(of: app)
                ana = try await KitUser.signIn("ana", to: app)
                ben = try await KitUser.signIn("ben", to: app, proxy: proxy)
                chat = try await ben.client.newConversation(with: [ana.id])
                _ = try await ben.send([.text("hello")], in: chat)
                _ = try await ana.client.waitForCreation(of: chat.id, timeout: .seconds(30))
            }
        }

        @Test("a download over repeatedly broken connections resumes", .proves("PART-8"))
        func download() async throws {
            let scene = try await Scene(Cluster.shared().app())
            let chat = try #require(try await scene.ana.client.conversation(scene.chat.id))
            let id = try await scene.ana.send([KitTransfers.image(1_000_000)], in: chat)
            let part = try await scene.ben.receives(id).parts[0]
            // Each connection breaks before the end of the content.
            scene.proxy.limit(.init(fromServer: 400_000))
            try await part.download()
            #expect(try await part.loadData() == KitTransfers.bytes(1_000_000))
            await scene.proxy.close()
        }

        @Test("a download interrupted by the end of the app resumes after a restart", .proves("PART-8"))
        func restart() async throws {
            let app = try await Cluster.shared().app()
            let (scene, folder) = (try await Scene(app), try KitUser.folder("restart"))
            let chat = try #require(try await scene.ana.client.conversation(scene.chat.id))
            let id = try await scene.ana.send([KitTransfers.image(1_000_000)], in: chat)
            let first = try await KitUser.signIn("ben", to: app, folder: folder, proxy: scene.proxy)
            let part = try await first.receives(id).parts[0]
            let events = first.client.events
            scene.proxy.limit(.init(fromServer: 400_000))
            let downloading = Task { try await part.download() }
            try await within("some of it is here") {
                for await event in events {
                    guard case .contentTransferBegan(let transfer) = event else { continue }
                    for await fraction in transfer.progress where fraction > 0.3 { return }
                }
            }
            scene.proxy.limit(.init(fromServer: 0))
            await first.client.close()
            await #expect(throws: CancellationError.self) { try await downloading.value }
            // The limit is so low that a download from the start would report a smaller first fraction.
            scene.proxy.limit(.init(fromServer: 60_000))
            let second = KitUser(
                name: "ben", client: try KitUser.client(of: app, "ben", folder: folder, proxy: scene.proxy))
            try await second.connect()
            let again = try await second.part(0, of: id)
            #expect(again.transferStatus == .readyForDownload)
            let next = second.client.events
            let rest = Task { try await again.download() }
            try await within("it goes on") {
                for await event in next {
                    guard case .contentTransferBegan(let transfer) = event else { continue }
                    for await fraction in transfer.progress where fraction > 0 {
                        #expect(fraction > 0.3)
                        return
                    }
                }
            }
            scene.proxy.limit(.init())
            _ = try await rest.value
            #expect(try await again.loadData() == KitTransfers.bytes(1_000_000))
            await scene.proxy.close()
        }

        @Test("an interrupted upload restarts, and its message is sent once", .proves("PART-2", "PART-8", "OFF-2"))
        func upload() async throws {
            let scene = try await Scene(Cluster.shared().app())
            scene.proxy.limit(.init(fromClient: 300_000))
            let events = scene.ben.client.events
            let message = try await scene.chat.send(scene.ben.client.newMessage(parts: [KitTransfers.image(1_000_000)]))
            let after = try await scene.chat.send(scene.ben.client.newMessage(parts: [.text("after")]))
            try await within("the upload was tried") {
                for await event in events {
                    guard case .contentTransferBegan(let transfer) = event else { continue }
                    for await fraction in transfer.progress where fraction > 0.2 { return }
                }
            }
            #expect(try await scene.ana.client.message(message.id) == nil)
            scene.proxy.limit(.init())
            let received = try await scene.ana.receives(message.id)
            _ = try await scene.ana.receives(after.id)
            #expect(
                try await scene.ana.client.messages(in: scene.chat.id).map(\.id).suffix(2) == [message.id, after.id])
            try await received.parts[0].download()
            #expect(try await received.parts[0].loadData() == KitTransfers.bytes(1_000_000))
            await scene.proxy.close()
        }

        @Test("a cancelled upload leaves its message unsent and failed; others continue", .proves("PROG-1", "ERR-3"))
        func cancelled() async throws {
            let scene = try await Scene(Cluster.shared().app())
            scene.proxy.limit(.init(fromClient: 300_000))
            let events = scene.ben.client.events
            let parts = [try KitTransfers.image(1_000_000), try KitTransfers.image(900_000, seed: 1)]
            let message = try await scene.chat.send(scene.ben.client.newMessage(parts: parts))
            // A transfer may begin after the object's last change.
            try await within("the upload has begun") { [client = scene.ben.client] in
                while true {
                    if let message = try await client.message(message.id),
                        await client.transferProgress(of: message).children.count == 2
                    {
                        return
                    }
                    await Task.yield()
                }
            }
            let progress = await scene.ben.client.transferProgress(of: message)
            #expect(progress.total == 1_900_000 && progress.isCancellable && !progress.isPausable)
            progress.children[0].cancel()
            try await within("the failure is told") {
                for await event in events {
                    if case .operationFailed(let failure) = event, failure.messages == [message.id] { return }
                }
            }
            let failed = try #require(try await scene.ben.client.message(message.id))
            #expect(!failed.isSent && failed.failure?.code == .transferCancelled)
            #expect(failed.parts.map(\.transferStatus) == [.awaitingUpload, .awaitingUpload])
            scene.proxy.limit(.init())
            let next = try await scene.chat.send(scene.ben.client.newMessage(parts: [.text("next")]))
            _ = try await scene.ana.receives(next.id)
            #expect(try await scene.ana.client.message(message.id) == nil)
            try await failed.delete(.myDevices)
            try await scene.ben.diskIsEmpty()
            await scene.proxy.close()
        }

        @Test(
            "content above the server's limit makes the message fail; content that the server lost is uploaded again",
            .proves("PART-2"))
        func limits() async throws {
            let settings = ["STRATA_CONTENT_MAX_BYTES": "500000", "STRATA_CONTENT_UNREFERENCED_AGE": "5s"]
            try await Cluster.with(Cluster.Size(settings: settings)) { cluster in
                let scene = try await Scene(cluster.app())
                let large = try await scene.chat.send(scene.ben.client.newMessage(parts: [KitTransfers.image(500_001)]))
                try await scene.ben.until("it has failed") { try await $0.message(large.id)?.failure != nil }
                #expect(try await scene.ben.client.message(large.id)?.failure?.code == .dataLengthExceedsMaximum)
                // The first part is uploaded. The second part stays pending while the server removes the first part's
                // content.
                scene.proxy.limit(.init(fromClient: 200_000))
                let parts = [try KitTransfers.image(3000), try KitTransfers.image(400_000)]
                let message = try await scene.chat.send(scene.ben.client.newMessage(parts: parts))
                try await scene.ben.until("the first part is uploaded") {
                    try await $0.message(message.id)?.parts[0].contentID != nil
                }
                let first = try #require(try await scene.ben.part(0, of: message.id).contentID)
                try await eventually("the server has removed it") {
                    !cluster.contentFiles.contains { $0.contains("\(first)") }
                }
                scene.proxy.limit(.init())
                let received = try await scene.ana.receives(message.id)
                #expect(received.parts[0].contentID != first)
                try await received.parts[0].download()
                #expect(try await received.parts[0].loadData() == KitTransfers.bytes(3000))
                await scene.proxy.close()
            }
        }
    }
}
