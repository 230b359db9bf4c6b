// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import NIOCore
import StrataModel
import Synchronization
import Testing

@testable import Gateway

@Suite("failures of an object store", .timeLimit(.minutes(2)))
struct S3FaultTests {
    private static let large = S3StoreScene.large
    private static let operations: [FakeStore.Operation] = [
        .create, .list, .part, .complete, .put, .head, .get, .delete, .check,
    ]

    /// Runs all operations on small and large content.
    private func useAll(_ scene: S3StoreScene) async throws {
        try await scene.write(Self.large)
        try await scene.has(Self.large)
        try await scene.store.remove(scene.id)
        try await scene.write([1, 2, 3])
        try await scene.has([1, 2, 3])
        try await scene.store.remove(scene.id)
        _ = try await scene.store.room()
        #expect(scene.isEmpty)
    }

    @Test("a request that fails twice is repeated", arguments: operations)
    func repeated(_ operation: FakeStore.Operation) async throws {
        try await S3StoreScene.run { scene in
            scene.fake.fail(operation, .answer(503, code: "SlowDown"), .answer(500))
            try await useAll(scene)
        }
    }

    @Test(
        "a request whose connection ends before its body has arrived is repeated",
        arguments: [FakeStore.Operation.put, .part, .complete])
    func cut(_ operation: FakeStore.Operation) async throws {
        try await S3StoreScene.run { scene in
            scene.fake.fail(operation, .cut, .cut)
            try await useAll(scene)
        }
    }

    @Test("a request whose answer was lost is repeated, and has its effect once", arguments: operations)
    func lost(_ operation: FakeStore.Operation) async throws {
        try await S3StoreScene.run { scene in
            scene.fake.fail(operation, .lose)
            try await useAll(scene)
        }
    }

    @Test("a store that does not answer in time is asked again", arguments: operations)
    func slow(_ operation: FakeStore.Operation) async throws {
        try await S3StoreScene.run(S3StoreScene.limits(answer: .seconds(1))) { scene in
            scene.fake.fail(operation, .hang)
            try await useAll(scene)
        }
    }

    @Test("a store that fails for good is reported after a limited time", arguments: operations)
    func away(_ operation: FakeStore.Operation) async throws {
        try await S3StoreScene.run(S3StoreScene.limits(retries: .milliseconds(50))) { scene in
            scene.fake.failAlways(operation, .answer(503, code: "ServiceUnavailable"))
            let error = await #expect(throws: ContentStoreError.self) { try await useAll(scene) }
            guard case .failed(let reason)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(reason.contains("503"), "\(reason)")
            #expect(scene.fake.state.withLock { $0.uploads.isEmpty })
        }
    }

    @Test("a store that is known to be away gets one attempt, until it works again")
    func oneAttempt() async throws {
        try await S3StoreScene.run(S3StoreScene.limits(retries: .milliseconds(50))) { scene in
            scene.fake.failAlways(.put, .answer(503))
            await #expect(throws: ContentStoreError.self) { try await scene.write([1]) }
            let before = scene.fake.count(of: .put)
            await #expect(throws: ContentStoreError.self) { try await scene.write([1]) }
            #expect(scene.fake.count(of: .put) == before + 1)
            scene.fake.fail(.put)
            try await scene.write([1])
            try await scene.has([1])
        }
    }

    @Test("a store that cannot be reached is reported after a limited time")
    func unreachable() async throws {
        try await S3StoreScene.run(S3StoreScene.limits(retries: .milliseconds(50))) { scene in
            await scene.fake.stop()
            await #expect(throws: ContentStoreError.self) { try await scene.write([1]) }
            await #expect(throws: ContentStoreError.self) { _ = try await scene.store.open(scene.id) }
        }
    }

    @Test("a refusal is not repeated, and an exhausted store has its own error")
    func refused() async throws {
        try await S3StoreScene.run { scene in
            scene.fake.fail(
                .put, .answer(403, code: "AccessDenied"), .answer(507), .answer(400, code: "XMinioStorageFull"))
            for expected in [
                ContentStoreError.failed("put: 403 AccessDenied"), .full("put: 507 "),
                .full("put: 400 XMinioStorageFull"),
            ] {
                await #expect(throws: expected) { try await scene.write([1]) }
            }
            #expect(scene.fake.count(of: .put) == 3)
        }
    }

    @Test("a missing bucket is an error of every operation, and content in it is not forgotten")
    func missingBucket() async throws {
        try await S3StoreScene.run { scene in
            let fault = FakeStore.Fault.answer(404, code: "NoSuchBucket")
            for operation in Self.operations { scene.fake.failAlways(operation, fault) }
            await #expect(throws: ContentStoreError.failed("list objects: 404 NoSuchBucket")) {
                _ = try await scene.store.room()
            }
            await #expect(throws: ContentStoreError.failed("put: 404 NoSuchBucket")) { try await scene.write([1]) }
            await #expect(throws: ContentStoreError.failed("create upload: 404 NoSuchBucket")) {
                try await scene.write(Self.large)
            }
            await #expect(throws: ContentStoreError.failed("delete: 404 NoSuchBucket")) {
                try await scene.store.remove(scene.id)
            }
        }
    }

    @Test("a lack of connections does not make the store unavailable")
    func connections() async throws {
        try await S3StoreScene.run { scene in
            let lacks = HTTPClientError.getConnectionFromPoolTimeout
            for failure in [lacks, .connectTimeout] {
                var attempts = S3Attempts(S3StoreScene.limits(retries: .zero))
                let isRepeated = await scene.client.pause(&attempts, after: failure)
                #expect(!isRepeated)
                scene.fake.fail(.put, .answer(503))
                if failure == lacks {
                    try await scene.write([1, 2, 3])
                } else {
                    await #expect(throws: ContentStoreError.failed("put: 503 ")) { try await scene.write([1, 2, 3]) }
                }
            }
        }
    }

    // MARK: Parts

    @Test("parts that the store has confused are not made to content, and are discarded", arguments: [true, false])
    func wrongTag(_ hasTag: Bool) async throws {
        try await S3StoreScene.run { scene in
            scene.fake.fail(.part, hasTag ? .wrongTag : .noTag)
            let error = await #expect(throws: ContentStoreError.self) { try await scene.write(Self.large) }
            #expect(error == .failed(hasTag ? "complete upload: 400 InvalidPart" : "put part: 200"))
            #expect(scene.isEmpty)
        }
    }

    @Test("an error in an answer with status 200 is an error")
    func hiddenError() async throws {
        try await S3StoreScene.run { scene in
            scene.fake.fail(.complete, .hiddenError("InternalError"))
            try await scene.write(Self.large)
            try await scene.has(Self.large)
            #expect(scene.fake.count(of: .complete) == 2)
            try await scene.store.remove(scene.id)
            scene.fake.fail(.complete, .hiddenError("EntityTooSmall"))
            await #expect(throws: ContentStoreError.failed("complete upload: 200 EntityTooSmall")) {
                try await scene.write(Self.large)
            }
            #expect(scene.isEmpty)
        }
    }

    // MARK: Reading

    @Test("a broken answer is continued where it ended")
    func half() async throws {
        try await S3StoreScene.run { scene in
            try await scene.write(Pieces.bytes(100_000))
            scene.fake.fail(.get, .half, .half, .answer(503), .half)
            try await scene.has(Pieces.bytes(100_000))
            #expect(scene.fake.count(of: .get) == 5)
        }
    }

    @Test("other bytes than were requested, and removed content, end a download")
    func otherBytes() async throws {
        try await S3StoreScene.run { scene in
            try await scene.write([1, 2, 3])
            let reader = try #require(try await scene.store.open(scene.id))
            scene.fake.fail(.get, .otherBytes)
            for reason in ["get: other bytes than were requested", "get: 404 NoSuchKey"] {
                await #expect(throws: ContentStoreError.failed(reason)) { _ = try await reader.read(at: 0, atMost: 3) }
                try await scene.store.remove(scene.id)
            }
        }
    }
}
