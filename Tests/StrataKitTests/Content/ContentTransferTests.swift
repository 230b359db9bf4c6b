// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestTiers
import Testing

@testable import StrataKit

@Suite("one attempt of a transfer")
struct ContentTransferTests {
    private let server = FakeContentServer()
    private let bytes = Data((0..<100).map { UInt8($0) })

    private struct Scene {
        let folder: ContentFolder
        let server: FakeContentServer

        func download(
            _ download: ContentDownload, at date: Date = Date(), progress: TransferProgress = .init(total: 100)
        ) async throws -> Data {
            let name = try await ContentTransfer(server: server, folder: folder, progress: progress, now: { date })
                .download(download)
            return try Data(contentsOf: folder.file(name))
        }

        func expect(
            _ download: ContentDownload, at date: Date = Date(), progress: TransferProgress = .init(total: 100),
            gives bytes: Data,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let received = try await self.download(download, at: date, progress: progress)
            #expect(received == bytes, sourceLocation: sourceLocation)
        }
    }

    private func run(_ body: (Scene) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body(Scene(folder: ContentFolder(url: $0), server: server)) }
    }

    private func content(url: String? = nil, expires: Date? = nil, size: Int = 100) -> ContentDownload {
        let id = server.add(bytes)
        return ContentDownload(
            id: id, mimeType: "image/png", size: size, url: url.map { "\($0):\(id)" }, expires: expires)
    }

    /// Writes the first bytes of a download, as an interrupted attempt would have left them.
    private func leave(_ count: Int, of download: ContentDownload, in scene: Scene) throws {
        try Data(bytes.prefix(count)).write(to: scene.folder.partialFile(of: download.id))
    }

    private func names(in scene: Scene) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scene.folder.url.path)
    }

    @Test("a download requests a URL and writes to a file named after its content")
    func plain() async throws {
        try await run { scene in
            let content = content()
            let progress = TransferProgress(total: 100)
            try await scene.expect(content, progress: progress, gives: bytes)
            #expect(server.calls == ["locate", "download fresh 0"])
            #expect(progress.completed == 100)
            #expect(try names(in: scene) == ["\(content.id).png"])
            try await scene.expect(content, gives: bytes)
            #expect(server.calls.count == 2)
        }
    }

    @Test("a download uses the message's URL while it works")
    func given() async throws {
        try await run { scene in
            let now = Date()
            try await scene.expect(content(url: "given", expires: now + 1), at: now, gives: bytes)
            #expect(server.calls == ["download given 0"])
        }
    }

    @Test("a download requests another URL if the given one is too old, refused, or unreachable", .proves("PART-8"))
    func renewed() async throws {
        try await run { scene in
            let now = Date()
            try await scene.expect(content(url: "given", expires: now), at: now, gives: bytes)
            #expect(server.calls == ["locate", "download fresh 0"])
            server.addFaults("download", .refuses)
            try await scene.expect(content(url: "given"), gives: bytes)
            server.addFaults("download", .fails(FakeContentServer.busy))
            try await scene.expect(content(url: "given"), gives: bytes)
            let renewed = ["download given 0", "locate", "download fresh 0"]
            #expect(server.calls.dropFirst(2) == (renewed + renewed)[...])
        }
    }

    @Test("a download resumes after an interruption", .proves("PART-8"))
    func resumed() async throws {
        try await run { scene in
            let content = content(url: "given")
            server.addFaults("download", .breaksOff(after: 30))
            await #expect(throws: FakeContentServer.busy) { try await scene.download(content) }
            #expect(try names(in: scene) == ["\(content.id).part"])
            try await scene.expect(content, gives: bytes)
            #expect(server.calls == ["download given 0", "download given 30"])
        }
    }

    @Test("a server that ignores the range and sends all bytes does no harm")
    func ignoredRange() async throws {
        try await run { scene in
            let content = content(url: "given")
            try leave(30, of: content, in: scene)
            server.addFaults("download", .sendsAll)
            try await scene.expect(content, gives: bytes)
        }
    }

    @Test("a download that was complete at a kill is not repeated")
    func completePart() async throws {
        try await run { scene in
            let content = content(url: "given")
            try leave(100, of: content, in: scene)
            try await scene.expect(content, gives: bytes)
            #expect(server.calls == [])
        }
    }

    @Test("an oversized partial file restarts the download")
    func tooMuch() async throws {
        try await run { scene in
            let content = content()
            try Data(count: 101).write(to: scene.folder.partialFile(of: content.id))
            try await scene.expect(content, gives: bytes)
            #expect(server.calls == ["locate", "download fresh 0"])
        }
    }

    @Test("a partial file beyond the server's size restarts the download once")
    func beyondEnd() async throws {
        try await run { scene in
            let content = content()
            try leave(30, of: content, in: scene)
            server.addFaults("download", .beyondEnd)
            try await scene.expect(content, gives: bytes)
            #expect(server.calls == ["locate", "download fresh 30", "download fresh 0"])
            let other = self.content()
            server.addFaults("download", .beyondEnd, .beyondEnd)
            await #expect(throws: RequestFailure.self) { try await scene.download(other) }
        }
    }

    @Test("the server's size takes precedence over the message's", arguments: [90, 110])
    func wrongSize(_ size: Int) async throws {
        try await run { scene in try await scene.expect(content(size: size), gives: bytes) }
    }

    @Test("empty content is a file (PART-3)")
    func empty() async throws {
        try await run { scene in
            let id = server.add(Data())
            for url in [nil, "given:\(id)"] {
                try await scene.expect(ContentDownload(id: id, mimeType: "a/b", size: 0, url: url), gives: Data())
                scene.folder.removeFiles(["\(id).b"])
            }
        }
    }

    @Test("a refused new URL and a premature end are transient errors")
    func transient() async throws {
        try await run { scene in
            server.addFaults("download", .refuses)
            await #expect(
                throws: RequestFailure.transient(
                    .network("the server refused a download URL that is new"), retryAfter: nil)
            ) {
                try await scene.download(content())
            }
        }
    }

    @Test("content without bytes on the server is an error")
    func missing() async throws {
        try await run { scene in
            server.state.withLock { $0.isUploaded = false }
            let error = StrataError(.synchronizationFailure, "the server does not have the bytes of this content")
            await #expect(throws: error) { try await scene.download(content()) }
        }
    }

    @Test("an upload announces and sends the file, gets the same content each time, and keeps the file")
    func upload() async throws {
        try await run { scene in
            let part = UUID()
            let file = try scene.folder.stage(NewMessagePart(mimeType: "image/png", data: bytes), id: part)
            let upload = ContentUpload(part: part, name: part, file: file, mimeType: "image/png", size: 100)
            let progress = TransferProgress(total: 100)
            let transfer = ContentTransfer(server: server, folder: scene.folder, progress: progress)
            server.addFaults("upload", .breaksOff(after: 40))
            await #expect(throws: FakeContentServer.busy) { try await transfer.upload(upload) }
            #expect(progress.completed == 40)
            let id = try await transfer.upload(upload)
            #expect(server.calls == ["announce", "upload", "announce", "upload"])
            #expect(server.state.withLock { $0.contents } == [id: bytes])
            #expect(progress.completed == 100)
            #expect(try names(in: scene) == [file])
        }
    }

    @Test("a changed file is not uploaded", arguments: [nil, 99])
    func changedFile(_ size: Int?) async throws {
        try await run { scene in
            if let size { try Data(count: size).write(to: scene.folder.file("x")) }
            let transfer = ContentTransfer(server: server, folder: scene.folder, progress: .init(total: 100))
            let upload = ContentUpload(part: UUID(), name: UUID(), file: "x", mimeType: "image/png", size: 100)
            await #expect { try await transfer.upload(upload) } throws: {
                ($0 as? StrataError)?.code == .devicePersistenceFailure
            }
            #expect(server.calls == [])
        }
    }

    @Test("URLs below the server's own address use the client's address, and others are used unchanged")
    func addresses() {
        let id = ContentID.random()
        let base = PublicBase(refreshURL: "https://chat.example.org/content/\(id)", id: id)
        #expect(
            base.reachable("https://chat.example.org/content/uploads/x", by: "http://127.0.0.1:1")
                == "http://127.0.0.1:1/content/uploads/x")
        for url in ["https://chat.example.org.evil/x", "https://store.example.org/x"] {
            #expect(base.reachable(url, by: "http://a") == url)
        }
        #expect(PublicBase(refreshURL: nil, id: id).reachable("https://a/b", by: "http://c") == "https://a/b")
        #expect(
            PublicBase(refreshURL: "https://a/other", id: id).reachable("https://a/b", by: "http://c") == "https://a/b")
    }
}
