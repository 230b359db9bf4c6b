// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1
import StrataModel
import Synchronization
import Testing

@testable import Gateway

@Suite("content in an object store", .timeLimit(.minutes(2)))
struct S3ContentStoreTests {
    @Test("written content is read back, whole and in ranges, with its type", arguments: [0, 1, 70_000, 1_000_000])
    func roundTrip(_ size: Int) async throws {
        try await S3StoreScene.run { scene in
            let bytes = Pieces.bytes(size)
            try await scene.write(bytes, type: "text/plain;  charset=utf-8")
            try await scene.has(bytes)
            let reader = try #require(try await scene.store.open(scene.id))
            #expect(reader.type == "text/plain; charset=utf-8")
            #expect(
                try await reader.read(at: size / 2, atMost: 10)
                    == ByteBuffer(bytes: bytes.dropFirst(size / 2).prefix(10)))
            let headers = scene.fake.state.withLock { $0.objects[scene.key]?.headers }
            #expect(headers?["content-disposition"] == ["attachment"])
            #expect(headers?["cache-control"] == ["private, max-age=3600"])
            #expect(scene.fake.count(of: .create) == 0)
        }
    }

    @Test("content of more than 16 MB is uploaded in parts of 8 MB")
    func parts() async throws {
        try await S3StoreScene.run { scene in
            try await scene.write(S3StoreScene.large)
            #expect(scene.fake.count(of: .part) == 3)
            #expect(scene.fake.count(of: .put) == 0)
            try await scene.has(S3StoreScene.large)
            #expect(try await scene.store.open(scene.id)?.type == "image/png")
            #expect(scene.store.bufferedBytes(of: S3StoreScene.large.count) == 8 << 20)
            #expect(scene.store.bufferedBytes(of: 10) == 10)
        }
    }

    @Test(
        "an upload that is too short, too long or interrupted stores nothing",
        arguments: [100_000, S3StoreScene.large.count])
    func wrongLength(_ size: Int) async throws {
        try await S3StoreScene.run { scene in
            let bytes = S3StoreScene.large.prefix(size)
            for wrong in [Array(bytes.dropLast()), bytes + [0]] {
                await #expect(throws: ContentStoreError.wrongLength) {
                    try await scene.store.write(scene.id, type: "a/b", size: size, from: Pieces(wrong, of: 50_000))
                }
                #expect(scene.isEmpty)
            }
            await #expect(throws: ContentStoreError.brokenOff) {
                let half = Pieces(bytes.dropLast(), of: 50_000, breaks: true)
                try await scene.store.write(scene.id, type: "a/b", size: size, from: half)
            }
            #expect(scene.isEmpty)
            let reopened = try await scene.store.open(scene.id)
            #expect(reopened == nil)
        }
    }

    @Test("an upload reads at most one piece beyond the announced length")
    func endless() async throws {
        try await S3StoreScene.run { scene in
            let pieces = Pieces(Pieces.bytes(100_000), of: 1000)
            await #expect(throws: ContentStoreError.wrongLength) {
                try await scene.store.write(scene.id, type: "a/b", size: 5000, from: pieces)
            }
            #expect(pieces.given.load(ordering: .relaxed) == 6)
        }
    }

    @Test("the first of two sequential uploads of the same content stays", arguments: [3, S3StoreScene.large.count])
    func twice(_ size: Int) async throws {
        try await S3StoreScene.run { scene in
            let first = Array(S3StoreScene.large.prefix(size))
            try await scene.write(first)
            try await scene.write(first.reversed())
            try await scene.has(first)
        }
    }

    // MARK: One upload at a time

    @Test(
        "a later upload aborts the earlier one, which succeeds if the later one is complete", arguments: [true, false])
    func oneAtATime(_ laterIsComplete: Bool) async throws {
        try await S3StoreScene.run { scene in
            let (bytes, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
            let (id, store, size) = (scene.id, scene.store, S3StoreScene.large.count)
            let earlier = Task { try await store.write(id, type: "a/b", size: size, from: bytes) }
            continuation.yield(ByteBuffer(bytes: S3StoreScene.large.prefix(9 << 20)))
            while scene.fake.state.withLock({ $0.uploads.values.first?.parts.count }) != 1 { await Task.yield() }
            if laterIsComplete {
                try await scene.write(S3StoreScene.large)
            } else {
                await #expect(throws: ContentStoreError.brokenOff) {
                    let half = Pieces(S3StoreScene.large.prefix(1000), of: 100, breaks: true)
                    try await store.write(id, type: "a/b", size: size, from: half)
                }
                #expect(scene.isEmpty)
            }
            continuation.yield(ByteBuffer(bytes: S3StoreScene.large.dropFirst(9 << 20)))
            continuation.finish()
            if laterIsComplete {
                try await earlier.value
                try await scene.has(S3StoreScene.large)
            } else {
                await #expect(throws: ContentStoreError.superseded) { try await earlier.value }
                #expect(scene.isEmpty)
            }
        }
    }

    @Test("of two uploads that begin together, the later one goes on")
    func together() async throws {
        try await S3StoreScene.run { scene in
            // Another gateway's upload has begun after this one, and before this one looks for others.
            scene.fake.state.withLock {
                _ = $0.add(.init(key: scene.key, startedAt: .now.addingTimeInterval(60), headers: [:]))
            }
            await #expect(throws: ContentStoreError.superseded) { try await scene.write(S3StoreScene.large) }
            #expect(scene.fake.state.withLock { Array($0.uploads.keys) } == ["upload+0001"])
        }
    }

    // MARK: Removal

    @Test("removed content is gone, and a second removal is no error")
    func removal() async throws {
        try await S3StoreScene.run { scene in
            try await scene.write([1, 2, 3])
            try await scene.store.remove(scene.id)
            try await scene.store.remove(scene.id)
            #expect(scene.isEmpty)
            let reopened = try await scene.store.open(scene.id)
            #expect(reopened == nil)
        }
    }

    @Test("a sweep aborts uploads of content that began more than a day ago, and no others")
    func leftovers() async throws {
        try await S3StoreScene.run { scene in
            let old = Date(timeIntervalSinceNow: -90_000)
            let others = [
                ("a/\(ContentID.random())", Date(timeIntervalSinceNow: -80_000)), ("a/notes.txt", old),
                ("b/\(ContentID.random())", old),
            ]
            scene.fake.state.withLock { state in
                for _ in 0..<5 { state.add(.init(key: "a/\(ContentID.random())", startedAt: old, headers: [:])) }
                for (key, time) in others { state.add(.init(key: key, startedAt: time, headers: [:])) }
            }
            let removed = try await scene.store.removeLeftovers()
            #expect(removed == 5)
            #expect(
                scene.fake.state.withLock { Set($0.uploads.values.map(\.key)) } == Set(others.map(\.0)))
            let again = try await scene.store.removeLeftovers()
            #expect(again == 0)
        }
    }

    // MARK: Direct downloads

    @Test("a URL for clients is the same until it expires, and differs by method and content")
    func direct() async throws {
        try await S3StoreScene.run { scene in
            let expiry = Timestamp(microseconds: 1_369_353_600_000_000)
            let url = try #require(scene.store.directURL(of: scene.id, isHead: false, until: expiry))
            let path = scene.fake.url.dropFirst("s3+".count)
            #expect(url.hasPrefix("\(path)/\(scene.id)?X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
            #expect(url.contains("&X-Amz-Date=20130523T210000Z&X-Amz-Expires=10800&"))
            #expect(scene.store.directURL(of: scene.id, isHead: false, until: expiry) == url)
            #expect(scene.store.directURL(of: scene.id, isHead: true, until: expiry) != url)
            #expect(scene.store.directURL(of: .random(), isHead: false, until: expiry) != url)
        }
        try await S3StoreScene.run(redirects: false) { scene in
            #expect(scene.store.directURL(of: scene.id, isHead: false, until: .now()) == nil)
        }
    }
}
