// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestTiers
import Testing

@testable import StrataKit

@Suite("running transfers")
struct ContentTransfersTests {
    private let server = FakeContentServer()
    private let bytes = Data((0..<100).map { UInt8($0) })

    private struct Scene {
        let transfers: ContentTransfers
        let folder: ContentFolder
        let clock: ManualClock
        let events: AsyncStream<ContentTransferEvent>

        func nextEnd() async -> ContentTransferEvent.Result? {
            for await event in events { if case .ended(_, let result) = event { return result } }
            return nil
        }
    }

    private func run(isConnected: Bool = true, _ body: (Scene) async throws -> Void) async throws {
        try await withTemporaryFolder { url in
            let folder = try ContentFolder(url: url)
            let clock = ManualClock()
            let (events, continuation) = AsyncStream.makeStream(of: ContentTransferEvent.self)
            let queue = TransferQueue(isConnected: isConnected)
            let transfers = ContentTransfers(server: server, folder: folder, queue: queue, clock: clock, random: { 1 })
            { continuation.yield($0) }
            let scene = Scene(transfers: transfers, folder: folder, clock: clock, events: events)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await transfers.run() }
                try await body(scene)
                group.cancelAll()
            }
        }
    }

    private func content() -> ContentDownload {
        ContentDownload(id: server.add(bytes), mimeType: "image/png", size: 100)
    }

    private func upload(in scene: Scene) throws -> ContentUpload {
        let part = UUID()
        let file = try scene.folder.stage(NewMessagePart(mimeType: "image/png", data: bytes), id: part)
        return ContentUpload(part: part, name: part, file: file, mimeType: "image/png", size: 100)
    }

    @Test("an upload and a download return their results (PART-8)", .timeLimit(.minutes(3)))
    func both() async throws {
        try await run { scene in
            let id = try await scene.transfers.upload(upload(in: scene))
            let file = try await scene.transfers.download(ContentDownload(id: id, mimeType: "image/png", size: 100))
            #expect(try Data(contentsOf: file) == bytes)
        }
    }

    @Test("each transfer reports its begin and its end, with its progress (PART-9)", .timeLimit(.minutes(3)))
    func events() async throws {
        try await run { scene in
            let content = content()
            let progress = await scene.transfers.beginDownload(content, rank: .init(isRequested: false))
            var iterator = scene.events.makeAsyncIterator()
            let began = await iterator.next(isolation: #isolation)
            let ended = await iterator.next(isolation: #isolation)
            guard case .began(.download(content.id), let told)? = began,
                case .ended(.download(content.id), let result)? = ended
            else {
                Issue.record("\(String(describing: began)), \(String(describing: ended))")
                return
            }
            #expect(told === progress)
            #expect(result == .downloaded(file: "\(content.id).png"))
            #expect(progress.isFinished && progress.fraction == 1)
            #expect(await scene.transfers.progress(of: .download(content.id)) == nil)
        }
    }

    @Test("a failed attempt is retried at its time", .timeLimit(.minutes(3)))
    func retry() async throws {
        try await run { scene in
            server.addFaults("locate", .fails(FakeContentServer.busy), .fails(FakeContentServer.busy))
            await scene.transfers.beginDownload(content(), rank: .init(isRequested: true))
            for wait in [1.0, 2] {
                await server.waitForCall("locate")
                await scene.clock.waitForSleep(until: scene.clock.now + wait)
                scene.clock.advance(by: .seconds(wait))
            }
            #expect(await scene.nextEnd() != nil)
        }
    }

    @Test("a refusal is the error of both the call and the event", .timeLimit(.minutes(3)))
    func refused() async throws {
        try await run { scene in
            let error = StrataError(.messageDeleted, "gone")
            server.addFaults("locate", .fails(.permanent(error, nil)))
            await #expect(throws: error) { try await scene.transfers.download(content()) }
            #expect(await scene.nextEnd() == .failed(error))
        }
    }

    @Test(
        "cancelling the progress ends a running transfer, which can be requested again", .proves("PROG-1"),
        .timeLimit(.minutes(3)))
    func cancel() async throws {
        try await run { scene in
            server.addFaults("download", .hangs)
            let content = content()
            let progress = await scene.transfers.beginDownload(content, rank: .init(isRequested: true))
            await server.waitForCall("download fresh 0")
            progress.cancel()
            #expect(await scene.nextEnd() == .cancelled)
            #expect(progress.isFinished && progress.isCancelled)
            let file = try await scene.transfers.download(content)
            #expect(try Data(contentsOf: file) == bytes)
        }
    }

    @Test("a paused download is interrupted and resumes", .proves("PROG-1"), .timeLimit(.minutes(3)))
    func pause() async throws {
        try await run { scene in
            server.addFaults("download", .hangsAfter(30))
            let content = content()
            let progress = await scene.transfers.beginDownload(content, rank: .init(isRequested: true))
            #expect(progress.isPausable && progress.isCancellable)
            for await fraction in progress where fraction > 0.25 { break }
            progress.pause()
            await server.waitForCall("broken off")
            #expect(!progress.isFinished && progress.isPaused)
            progress.resume()
            #expect(await scene.nextEnd() == .downloaded(file: "\(content.id).png"))
            #expect(server.calls.last == "download fresh 28")
        }
    }

    @Test(
        "a cancelled upload has its own error, and an upload cannot be paused", .proves("PROG-1"),
        .timeLimit(.minutes(3)))
    func cancelUpload() async throws {
        try await run { scene in
            server.addFaults("upload", .hangs)
            let upload = try upload(in: scene)
            let waiting = Task { try await scene.transfers.upload(upload) }
            await server.waitForCall("upload")
            let progress = try #require(await scene.transfers.progress(of: .upload(upload.part)))
            #expect(!progress.isPausable)
            progress.cancel()
            await #expect { _ = try await waiting.value } throws: { ($0 as? StrataError)?.code == .transferCancelled }
        }
    }

    @Test("a transfer without a connection waits", .timeLimit(.minutes(3)))
    func offline() async throws {
        try await run(isConnected: false) { scene in
            async let file = scene.transfers.download(content())
            await scene.transfers.connectionChanged(isConnected: true)
            let downloaded = try await file
            #expect(try Data(contentsOf: downloaded) == bytes)
        }
    }

    @Test("a transfer without a session requests one and continues after sign-in (OFF-9)", .timeLimit(.minutes(3)))
    func signIn() async throws {
        try await run { scene in
            server.addFaults("announce", .fails(.signInNeeded(nonce: "n")))
            await scene.transfers.beginUpload(try upload(in: scene))
            for await event in scene.events { if case .signInNeeded("n") = event { break } }
            await scene.transfers.signedIn()
            let result = await scene.nextEnd()
            #expect(result == server.state.withLock { $0.announced.values.first }.map { .uploaded($0) })
        }
    }

    @Test("content requested twice is downloaded once", .timeLimit(.minutes(3)))
    func once() async throws {
        try await run(isConnected: false) { scene in
            let content = content()
            async let first = scene.transfers.download(content)
            async let second = scene.transfers.download(content)
            await scene.transfers.connectionChanged(isConnected: true)
            let files = try await [first, second]
            #expect(files[0] == files[1])
            #expect(server.calls == ["locate", "download fresh 0"])
        }
    }

    @Test("stopping the transfers cancels waiting ones and later requests", .timeLimit(.minutes(3)))
    func stop() async throws {
        let content = content()
        server.addFaults("download", .hangs)
        try await withTemporaryFolder { url in
            let transfers = ContentTransfers(
                server: server, folder: try ContentFolder(url: url), queue: .init(isConnected: true)
            ) { _ in }
            let running = Task { await transfers.run() }
            let waiting = Task { try await transfers.download(content) }
            await server.waitForCall("download fresh 0")
            running.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await running.value
            await #expect(throws: CancellationError.self) { try await transfers.download(content) }
        }
    }
}
