// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import NIOPosix
import ProtocolClient
import ServiceKit
import StrataModel
import Synchronization
import TestCluster
import TestTiers
import Testing

@testable import Gateway

extension EndToEnd {
    /// Rich content in an S3 server that is not ours.
    @Suite("rich content in an object store", .enabled(if: MotoServer.program != nil, "make test installs moto."))
    struct ObjectStoreTests {
        private static let bytes = Data("the bytes of a picture".utf8)
        /// More than is uploaded in one request.
        private static let large = Data((0..<17).flatMap { [UInt8](repeating: $0, count: 1 << 20) })

        // MARK: The store alone

        private func withStore(
            at url: String, key: (id: String, secret: String) = ("key", "a secret"),
            patience: S3Patience = S3Patience(), _ body: (S3ContentStore) async throws -> Void
        ) async throws {
            let client = S3Client(
                S3Settings(
                    location: try #require(S3Location(url, region: "us-east-1")), accessKey: key.id,
                    secretKey: Secret(key.secret)),
                patience: patience, group: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "test"))
            do { try await body(S3ContentStore(client, redirects: false)) } catch {
                await client.shutDown()
                throw error
            }
            await client.shutDown()
        }

        private func write(_ bytes: Data, _ id: ContentID, to store: S3ContentStore) async throws {
            let pieces = AsyncStream { continuation in
                continuation.yield(ByteBuffer(bytes: bytes))
                continuation.finish()
            }
            try await store.write(id, type: "text/plain; charset=utf-8", size: bytes.count, from: pieces)
        }

        private func read(_ range: Range<Int>, of reader: any ContentReader) async throws -> Data {
            var found = Data()
            var pieces = reader.pieces(of: range)
            while let piece = try await pieces.next() { found.append(contentsOf: piece.readableBytesView) }
            return found
        }

        @Test("the server accepts the signature of each request, with the documented permissions")
        func signatures() async throws {
            try await MotoServer.with { server in
                try await withStore(at: server.url, key: try await server.requireSignatures()) { store in
                    _ = try await store.room()
                    for bytes in [Data(), Self.bytes, Self.large] {
                        let id = ContentID.random()
                        let missing = try await store.open(id)
                        #expect(missing == nil)
                        try await write(bytes, id, to: store)
                        let reader = try #require(try await store.open(id))
                        #expect(reader.type == "text/plain; charset=utf-8")
                        #expect(reader.size == bytes.count)
                        #expect(try await read(0..<bytes.count, of: reader) == bytes)
                        let part = bytes.count / 3..<bytes.count / 2
                        #expect(try await read(part, of: reader) == bytes[part])
                        // The first content stays.
                        try await write(Data(bytes.map { $0 ^ 1 }), id, to: store)
                        #expect(try await read(0..<bytes.count, of: reader) == bytes)
                        try await store.remove(id)
                        try await store.remove(id)
                        let removed = try await store.open(id)
                        #expect(removed == nil)
                    }
                    await #expect(throws: ContentStoreError.wrongLength) {
                        try await store.write(
                            .random(), type: "a/b", size: Self.large.count,
                            from: AsyncStream<ByteBuffer> { $0.finish() })
                    }
                    // Aborted uploads are gone.
                    #expect(try await store.removeLeftovers() == 0)
                }
            }
        }

        @Test("the server refuses requests that are signed with another secret")
        func wrongSecret() async throws {
            try await MotoServer.with { server in
                let key = try await server.requireSignatures()
                try await withStore(at: server.url, key: (key.id, "another secret")) { store in
                    await #expect(throws: ContentStoreError.failed("put: 403 SignatureDoesNotMatch")) {
                        try await write(Self.bytes, .random(), to: store)
                    }
                    await #expect(throws: ContentStoreError.failed("list objects: 403 SignatureDoesNotMatch")) {
                        _ = try await store.room()
                    }
                }
            }
        }

        @Test("uploads and downloads go on after their connections end")
        func cut() async throws {
            try await MotoServer.with { server in
                let proxy = try await CuttingProxy.start(to: [server.port])
                // No connection can carry two parts of the upload, or a quarter of the download.
                proxy.limit(CuttingProxy.Limits(fromClient: 12 << 20, fromServer: 4 << 20))
                proxy.setDelay(1...20)
                try await withStore(at: MotoServer.url(port: proxy.port)) { store in
                    let id = ContentID.random()
                    try await write(Self.large, id, to: store)
                    let reader = try #require(try await store.open(id))
                    #expect(try await read(0..<Self.large.count, of: reader) == Self.large)
                }
                await proxy.close()
            }
        }

        @Test("an upload and a download end with the server, and the upload can be repeated")
        func killed() async throws {
            try await MotoServer.with { server in
                try await withStore(at: server.url, patience: S3Patience(retries: .milliseconds(200))) { store in
                    let (kept, half) = (ContentID.random(), ContentID.random())
                    try await write(Self.large, kept, to: store)
                    var download = try #require(try await store.open(kept)).pieces(of: 0..<Self.large.count)
                    _ = try #require(try await download.next())
                    let (bytes, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
                    let upload = Task {
                        try await store.write(half, type: "a/b", size: Self.large.count, from: bytes)
                    }
                    continuation.yield(ByteBuffer(bytes: Self.large.prefix(9 << 20)))
                    try await eventually("the upload has begun") { try await server.hasUploads() }
                    await server.stop()
                    continuation.yield(ByteBuffer(bytes: Self.large.dropFirst(9 << 20)))
                    continuation.finish()
                    await #expect(throws: ContentStoreError.self) { try await upload.value }
                    await #expect(throws: ContentStoreError.self) { while try await download.next() != nil {} }

                    try await MotoServer.with(port: server.port) { _ in
                        try await write(Self.large, half, to: store)
                        let reader = try #require(try await store.open(half))
                        #expect(try await read(0..<Self.large.count, of: reader) == Self.large)
                    }
                }
            }
        }

        // MARK: Gateways

        @Test("clients upload through a gateway, and download from the store itself")
        func redirected() async throws {
            try await MotoServer.with { server in
                let settings = server.settings.merging(["STRATA_CONTENT_REDIRECT": "true"]) { $1 }
                try await Cluster.with(Cluster.Size(gateways: 2, settings: settings)) { cluster in
                    let ana = try await cluster.app().signIn("ana")
                    for bytes in [Self.bytes, Self.large] {
                        let content = try await ana.upload(bytes, type: "text/html", via: 0)
                        let url = try await ana.downloadURL(of: content)
                        let answer = try await cluster.fetch(url, via: 1)
                        #expect(answer.status == 307)
                        #expect(answer.header("Cache-Control")?.hasPrefix("private, max-age=") == true)
                        let direct = try #require(answer.header("Location"))
                        #expect(direct.hasPrefix("http://127.0.0.1:\(server.port)/\(MotoServer.bucket)/of/strata/"))
                        #expect(try await cluster.fetch(url, via: 0).header("Location") == direct)
                        #expect(try await cluster.fetch(url, method: "HEAD").header("Location") != direct)
                        try await check(direct, gives: bytes, in: cluster)
                        // A client that follows the redirect.
                        try await check(cluster.urls[1] + path(of: url), gives: bytes, in: cluster)
                    }
                    #expect(cluster.contentFiles == [])
                }
            }
        }

        /// Downloads a content whole and from its middle.
        private func check(_ url: String, gives bytes: Data, in cluster: Cluster) async throws {
            for offset in [0, bytes.count / 2] {
                let found = Mutex(Data())
                let answer = try await cluster.client(0)
                    .download(url, from: offset) { _, piece in
                        found.withLock { $0.append(piece) }
                    }
                #expect(answer.status == (offset == 0 ? 200 : 206))
                #expect(found.withLock { $0 } == bytes.dropFirst(offset))
                #expect(answer.header("Content-Type") == "text/html")
                #expect(answer.header("Content-Disposition") == "attachment")
            }
        }

        @Test("clients that cannot reach the store download through a gateway; unreferenced content is removed")
        func streamed() async throws {
            try await MotoServer.with { server in
                let settings = server.settings.merging(["STRATA_CONTENT_UNREFERENCED_AGE": "5s"]) { $1 }
                try await Cluster.with(Cluster.Size(gateways: 2, settings: settings)) { cluster in
                    let users = try await cluster.app().signIn(["ana", "ben"])
                    let conversation = try await users[0].converse(with: [users[1]])
                    let lost = try await users[0].upload(Self.bytes)
                    #expect(try await server.keys() == ["of/strata/\(lost.path.split(separator: "/").last ?? "")"])
                    try await eventually("unreferenced content is removed") { try await server.keys().isEmpty }
                    #expect(try await users[0].call("GET", lost.path).errorID == "not_found")

                    // The value of the bytes changes within the range below.
                    let bytes = Data(Self.large[600_000..<1_600_000])
                    let kept = try await users[0].upload(bytes)
                    try await users[0].does("POST", conversation.path + "/messages", kept.message)
                    // It changes nothing.
                    #expect(try await cluster.put(bytes, to: kept.uploadURL, via: 1).status == 200)
                    let url = try await users[1].downloadURL(of: kept)
                    let answer = try await cluster.fetch(url, via: 1)
                    #expect(answer.status == 200)
                    #expect(answer.body == bytes)
                    #expect(answer.header("Content-Type") == "image/png")
                    #expect(answer.header("Content-Security-Policy") == "sandbox; default-src 'none'")
                    let part = try await cluster.fetch(url, headers: ["Range": "bytes=400000-500000"])
                    #expect(part.status == 206)
                    #expect(part.body == bytes[400_000...500_000])
                    #expect(
                        try await cluster.fetch(url, method: "HEAD").header("Content-Length") == "\(bytes.count)")
                }
            }
        }

        @Test("a missing bucket is reported at the start, and uploads succeed once it exists")
        func missingBucket() async throws {
            try await MotoServer.with(hasBucket: false) { server in
                let settings = server.settings.merging(["STRATA_LOG_LEVEL": "trace"]) { $1 }
                try await Cluster.with(Cluster.Size(settings: settings)) { cluster in
                    let gateway = cluster.instances(of: .gateway)[0]
                    try await eventually("the log names the reason") {
                        !gateway.lines(containing: "list objects: 404 NoSuchBucket").isEmpty
                    }
                    let ana = try await cluster.app().signIn("ana")
                    let content = try await ana.announce(Self.bytes.count)
                    let refused = try await cluster.put(Self.bytes, to: content.uploadURL)
                    #expect(refused.status == 503)
                    #expect(refused.header("Retry-After") == "1")
                    try await server.makeBucket()
                    #expect(try await cluster.put(Self.bytes, to: content.uploadURL).status == 200)
                    #expect(try await cluster.fetch(try await ana.downloadURL(of: content)).body == Self.bytes)
                    #expect(gateway.lines(containing: MotoServer.secret).isEmpty)
                }
            }
        }

        @Test("without the store, gateways stay ready, answer 503, report it, and recover", .long)
        func away() async throws {
            try await MotoServer.with { server in
                try await Cluster.with(Cluster.Size(settings: server.settings)) { cluster in
                    let gateway = cluster.instances(of: .gateway)[0]
                    let users = try await cluster.app().signIn(["ana", "ben"])
                    let ana = users[0]
                    let content = try await ana.upload(Self.bytes)
                    let url = try await ana.downloadURL(of: content)
                    let isUp = { try await gateway.metric("strata_process_dependency_up", "dependency=\"content\"") }
                    #expect(try await isUp() == 1)
                    await server.stop()
                    let late = try await ana.announce(Self.bytes.count)
                    let refused = try await cluster.put(Self.bytes, to: late.uploadURL)
                    #expect(refused.status == 503)
                    #expect(refused.errorID == "service_unavailable")
                    #expect(try await cluster.fetch(url).status == 503)
                    #expect(try await isUp() == 0)
                    #expect(try await gateway.health("/health/ready") == 200)
                    _ = try await ana.converse(with: [users[1]])
                    #expect(gateway.lines(containing: "content store is unavailable").count == 1)
                    #expect(try await gateway.metric("strata_gateway_content_store_retries_total") > 0)

                    try await MotoServer.with(port: server.port) { _ async throws in
                        #expect(try await cluster.put(Self.bytes, to: late.uploadURL).status == 200)
                        #expect(try await isUp() == 1)
                        #expect(gateway.lines(containing: "content store is available again").count == 1)
                    }
                }
            }
        }
    }
}
