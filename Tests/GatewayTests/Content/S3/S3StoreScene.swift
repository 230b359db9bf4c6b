// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore
import NIOPosix
import NetKit
import ServiceKit
import StrataModel
import Synchronization
import Testing

@testable import Gateway

/// A content store on a ``FakeStore``.
struct S3StoreScene: Sendable {
    let fake: FakeStore
    let store: S3ContentStore
    let client: S3Client
    let id = ContentID.random()

    var key: String { "a/\(id)" }

    /// - Parameter patience: the time limits. The default retries for as long as a test may take, and waits for answers
    ///   without a limit that a busy machine could reach.
    static func run(
        _ patience: S3Patience = limits(), redirects: Bool = true, _ body: (S3StoreScene) async throws -> Void
    ) async throws {
        let fake = try await FakeStore.start()
        let location = try #require(S3Location(fake.url, region: "us-east-1"))
        let client = S3Client(
            S3Settings(location: location, accessKey: "key", secretKey: Secret("secret")), patience: patience,
            group: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let scene = S3StoreScene(fake: fake, store: S3ContentStore(client, redirects: redirects), client: client)
        do { try await body(scene) } catch {
            await client.shutDown()
            await fake.stop()
            throw error
        }
        await client.shutDown()
        await fake.stop()
    }

    static func limits(
        answer: Duration = .seconds(60), retries: Duration = .seconds(60)
    ) -> S3Patience {
        S3Patience(
            connect: .seconds(30), answer: answer, retries: retries,
            backoff: Backoff(initial: .milliseconds(1), maximum: .milliseconds(10)))
    }

    /// Content of three parts.
    static let large: [UInt8] = (0..<17).flatMap { [UInt8](repeating: $0, count: 1 << 20) }

    func write(_ bytes: [UInt8], type: String = "image/png") async throws(ContentStoreError) {
        try await store.write(id, type: type, size: bytes.count, from: Pieces(bytes, of: 300_000))
    }

    /// Checks that the store has exactly one object and no unfinished upload.
    func has(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let reader = try #require(try await store.open(id), sourceLocation: sourceLocation)
        #expect(reader.size == bytes.count, sourceLocation: sourceLocation)
        let same = try await reader.read(at: 0, atMost: bytes.count) == ByteBuffer(bytes: bytes)
        #expect(same, sourceLocation: sourceLocation)
        fake.state.withLock {
            #expect($0.objects.count == 1 && $0.uploads.isEmpty, sourceLocation: sourceLocation)
        }
    }

    var isEmpty: Bool { fake.state.withLock { $0.objects.isEmpty && $0.uploads.isEmpty } }
}
