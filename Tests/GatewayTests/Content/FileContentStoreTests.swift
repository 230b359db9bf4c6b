// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import NIOCore
import StrataModel
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

@Suite("file content store")
struct FileContentStoreTests {
    private let id = ContentID.random()

    @Test(
        "written content is read back, whole and in ranges, with its type",
        arguments: [0, 1, 255, 70_000, 300_000, 1_000_000])
    func roundTrip(_ size: Int) async throws {
        try await withStore { store, directory in
            let bytes = Pieces.bytes(size)
            try await store.write(id, type: "image/png", size: size, from: Pieces(bytes, of: 7001))
            let reader = try #require(try await store.open(id))
            #expect(reader.type == "image/png")
            #expect(reader.size == size)
            #expect(try await reader.read(at: 0, atMost: size + 100) == ByteBuffer(bytes: bytes))
            #expect(
                try await reader.read(at: size / 2, atMost: 10)
                    == ByteBuffer(bytes: bytes.dropFirst(size / 2).prefix(10)))
            #expect(try await reader.read(at: size, atMost: 10).readableBytes == 0)
            let text = id.description
            #expect(Self.files(directory) == ["\(text.prefix(2))/\(text.dropFirst(2).prefix(2))/\(text)"])
        }
    }

    @Test("an upload that is too short, too long or interrupted stores nothing", arguments: [-1, 1, 600_000])
    func wrongLength(_ difference: Int) async throws {
        try await withStore { store, directory in
            let bytes = Pieces.bytes(700_000 + difference)
            await #expect(throws: ContentStoreError.wrongLength) {
                try await store.write(id, type: "a/b", size: 700_000, from: Pieces(bytes, of: 50_000))
            }
            await #expect(throws: ContentStoreError.brokenOff) {
                try await store.write(
                    id, type: "a/b", size: 700_000, from: Pieces(bytes.prefix(600_000), of: 50_000, breaks: true))
            }
            #expect(Self.files(directory) == [])
            let reopened = try await store.open(id)
            #expect(reopened == nil)
        }
    }

    @Test("an upload reads at most one chunk beyond the announced length")
    func endless() async throws {
        try await withStore { store, directory in
            let pieces = Pieces(Pieces.bytes(10_000_000), of: 1000)
            await #expect(throws: ContentStoreError.wrongLength) {
                try await store.write(id, type: "a/b", size: 5000, from: pieces)
            }
            #expect(pieces.given.load(ordering: .relaxed) == 6)
            #expect(Self.files(directory) == [])
        }
    }

    @Test("a full disk has its own error and stores nothing", arguments: [ENOSPC, EDQUOT])
    func full(_ code: Int32) async throws {
        let room = Mutex(400_000)
        let calls = FileCalls(write: { file, bytes, count, offset in
            let allowed = room.withLock { room in
                let allowed = min(room, count)
                room -= allowed
                return allowed
            }
            guard allowed > 0 else {
                errno = code
                return -1
            }
            return pwrite(file, bytes, allowed, off_t(offset))
        })
        try await withStore(calls) { store, directory in
            let error = await #expect(throws: ContentStoreError.self) {
                try await store.write(id, type: "a/b", size: 700_000, from: Pieces(Pieces.bytes(700_000), of: 50_000))
            }
            guard case .full(let reason)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(reason.hasPrefix("write: "))
            #expect(Self.files(directory) == [])
        }
    }

    @Test("bytes that do not reach the disk are not acknowledged and are deleted")
    func notSynced() async throws {
        let calls = FileCalls(sync: { _ in
            errno = EIO
            return -1
        })
        try await withStore(calls) { store, directory in
            let error = await #expect(throws: ContentStoreError.self) {
                try await store.write(id, type: "a/b", size: 10, from: Pieces(Pieces.bytes(10), of: 3))
            }
            guard case .failed? = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(Self.files(directory) == [])
        }
    }

    @Test("the store reports the free space and size of its file system")
    func room() async throws {
        try await withStore { store, directory in
            let room = try #require(try await store.room())
            let attributes = try FileManager.default.attributesOfFileSystem(forPath: directory)
            #expect(room.bytes == attributes[.systemSize] as? Int)
            #expect(room.freeBytes > 0 && room.freeBytes <= room.bytes)
        }
    }

    @Test("a file system without limits has unlimited space, and unlimited files")
    func boundless() {
        var found = statvfs()
        found.f_frsize = 1 << 20
        found.f_bavail = 1 << 44
        found.f_blocks = .max
        #expect(ContentRoom(found) == ContentRoom(freeBytes: .max, bytes: .max, freeFiles: nil, files: nil))
        found.f_blocks = 3
        found.f_bavail = 2
        found.f_files = 10
        found.f_favail = 4
        #expect(ContentRoom(found) == ContentRoom(freeBytes: 2 << 20, bytes: 3 << 20, freeFiles: 4, files: 10))
    }

    @Test("a signal during a write is no error")
    func interrupted() async throws {
        let calls = Mutex(0)
        let interrupting = FileCalls(write: { file, bytes, count, offset in
            guard
                calls.withLock({
                    $0 += 1; return $0.isMultiple(of: 2)
                })
            else {
                errno = EINTR
                return -1
            }
            return pwrite(file, bytes, min(count, 1000), off_t(offset))
        })
        try await withStore(interrupting) { store, _ in
            let bytes = Pieces.bytes(5500)
            try await store.write(id, type: "a/b", size: 5500, from: Pieces(bytes, of: 5500))
            #expect(try await store.open(id)?.read(at: 0, atMost: 10_000) == ByteBuffer(bytes: bytes))
        }
    }

    @Test("the first of two sequential uploads of the same content stays")
    func twice() async throws {
        try await withStore { store, directory in
            try await store.write(id, type: "first/one", size: 3, from: Pieces(Array("abc".utf8), of: 1))
            try await store.write(id, type: "second/one", size: 3, from: Pieces(Array("xyz".utf8), of: 1))
            let reader = try #require(try await store.open(id))
            #expect(reader.type == "first/one")
            #expect(try await reader.read(at: 0, atMost: 3) == ByteBuffer(string: "abc"))
            #expect(Self.files(directory).count == 1)
        }
    }

    @Test("one of several concurrent uploads of the same content is kept; a later upload takes over earlier bytes")
    func oneAtATime() async throws {
        try await withStore { store, directory in
            let path = "\(directory)/incoming/\(id)"
            var uploads: [(task: Task<Void, any Error>, bytes: AsyncStream<ByteBuffer>.Continuation, file: OpenFile)] =
                []
            for number in 0..<3 {
                let (bytes, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
                let task = Task { try await store.write(id, type: "a/\(number)", size: 700_000, from: bytes) }
                continuation.yield(ByteBuffer(bytes: Pieces.bytes(600_000)))
                while true {
                    await Task.yield()
                    guard let file = OpenFile(path, flags: O_RDONLY), file.size == 600_000 else { continue }
                    if let last = uploads.last, last.file.size == 600_000 { continue }
                    uploads.append((task, continuation, file))
                    break
                }
            }
            #expect(uploads.map { $0.file.size } == [0, 0, 600_000])
            func goOn(_ number: Int) async throws {
                uploads[number].bytes.yield(ByteBuffer(bytes: Pieces.bytes(100_000)))
                uploads[number].bytes.finish()
                try await uploads[number].task.value
            }
            await #expect(throws: ContentStoreError.superseded) { try await goOn(0) }
            try await goOn(2)
            // The content is stored, so this client need not retry.
            try await goOn(1)
            #expect(try await store.open(id)?.type == "a/2")
            #expect(Self.files(directory).count == 1)
        }
    }

    @Test("removed content stays readable only for current readers; a second removal is no error")
    func removal() async throws {
        try await withStore { store, directory in
            try await store.write(id, type: "a/b", size: 3, from: Pieces(Array("abc".utf8), of: 3))
            let reader = try #require(try await store.open(id))
            try await store.remove(id)
            try await store.remove(id)
            let reopened = try await store.open(id)
            #expect(reopened == nil)
            #expect(try await reader.read(at: 1, atMost: 3) == ByteBuffer(string: "bc"))
            #expect(Self.files(directory) == [])
        }
    }

    @Test("a truncated file is not served")
    func damaged() async throws {
        try await withStore { store, directory in
            try await store.write(id, type: "a/b", size: 5000, from: Pieces(Pieces.bytes(5000), of: 5000))
            let path = directory + "/" + (try #require(Self.files(directory).first))
            for length in [5000, 4999, 10, 0] {
                #expect(truncate(path, off_t(length)) == 0)
                await #expect(throws: ContentStoreError.self) { _ = try await store.open(id) }
            }
        }
    }

    @Test("a sweep removes files left by a crash after a day, and no others")
    func leftovers() async throws {
        try await withStore { store, directory in
            try await store.write(id, type: "a/b", size: 3, from: Pieces(Array("abc".utf8), of: 3))
            for (name, age) in [("old", 90_000.0), ("new", 80_000.0)] {
                let path = "\(directory)/incoming/\(name)"
                #expect(FileManager.default.createFile(atPath: path, contents: Data("x".utf8)))
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path)
            }
            #expect(try await store.removeLeftovers() == 1)
            #expect(Self.files(directory).count == 2)
            #expect(Self.files(directory).contains("incoming/new"))
        }
    }

    @Test("an unusable directory is refused at once")
    func unusable() throws {
        let file = NSTemporaryDirectory() + "/content-\(UUID())"
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        defer { unlink(file) }
        #expect(throws: ContentStoreError.self) { try FileContentStore(directory: file) }
    }

    // MARK: Helpers

    private func withStore(
        _ calls: FileCalls = FileCalls(), _ body: (FileContentStore, String) async throws -> Void
    ) async throws {
        let directory = NSTemporaryDirectory() + "/content-\(UUID())/deeper"
        defer { try? FileManager.default.removeItem(atPath: (directory as NSString).deletingLastPathComponent) }
        try await body(try FileContentStore(directory: directory + "/", calls: calls), directory)
    }

    private static func files(_ directory: String) -> [String] {
        (FileManager.default.enumerator(atPath: directory)?.allObjects as? [String] ?? [])
            .filter { name in
                (try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")[.type] as? FileAttributeType)
                    == .typeRegular
            }
            .sorted()
    }
}
