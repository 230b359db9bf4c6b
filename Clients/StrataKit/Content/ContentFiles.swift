// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The bytes of a file as an asynchronous sequence of chunks. A separate thread reads each chunk on demand.
struct FileChunks: AsyncSequence, Sendable {
    typealias Element = Data
    typealias Failure = any Error

    let url: URL
    /// The size of a chunk in bytes.
    var chunkSize = 256 << 10
    /// Called when a chunk is requested, with the number of bytes before it; at the end, with the total number of
    /// bytes.
    var taken: @Sendable (Int) -> Void = { _ in }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let chunks: FileChunks
        private var handle: FileHandle?
        private var offset = 0

        fileprivate init(chunks: FileChunks) { self.chunks = chunks }

        /// - Throws: ``StrataError`` with ``StrataError/Code/devicePersistenceFailure``; `CancellationError`.
        mutating func next() async throws -> Data? {
            let (open, url, size) = (handle, chunks.url, chunks.chunkSize)
            chunks.taken(offset)
            let (used, data) = try await ContentFolder.runBlocking {
                do {
                    let handle = try open ?? FileHandle(forReadingFrom: url)
                    return (handle, try handle.read(upToCount: size))
                } catch {
                    throw StrataError.file("the content of a part cannot be read", underlying: error)
                }
            }
            handle = used
            guard let data, !data.isEmpty else { return nil }
            offset += data.count
            return data
        }
    }
}

/// A file that receives a download.
struct PartialFile: Sendable {
    private let handle: FileHandle
    let url: URL

    /// Opens the file, and creates it if it does not exist.
    /// - Returns: the file, and its size in bytes.
    /// - Throws: ``StrataError`` with ``StrataError/Code/devicePersistenceFailure``.
    static func open(_ url: URL) async throws -> (file: PartialFile, size: Int) {
        try await work("be opened") {
            if !FileManager.default.fileExists(atPath: url.path) { try Data().write(to: url) }
            let handle = try FileHandle(forUpdating: url)
            return (PartialFile(handle: handle, url: url), Int(try handle.seekToEnd()))
        }
    }

    func write(_ data: Data, at offset: Int) async throws {
        try await Self.work("be written") {
            try handle.seek(toOffset: UInt64(offset))
            try handle.write(contentsOf: data)
        }
    }

    func truncate(to size: Int) async throws {
        try await Self.work("be written") { try handle.truncate(atOffset: UInt64(size)) }
    }

    func close() async throws { try await Self.work("be closed") { try handle.close() } }

    private static func work<Value: Sendable>(
        _ what: String, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await ContentFolder.runBlocking {
            do { return try body() } catch {
                throw StrataError.file("a file of content cannot \(what)", underlying: error)
            }
        }
    }
}
