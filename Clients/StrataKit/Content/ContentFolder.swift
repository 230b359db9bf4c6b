// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOPosix
import StrataModel

/// The folder that holds the files of content. All methods block; call them in ``runBlocking(_:)``.
///
/// A file is written under a name that ends in `.part`. It is renamed to its final name after it is complete and
/// synchronized to the disk. A file with a final name is therefore always complete, even if the process was killed.
struct ContentFolder: Hashable, Sendable {
    let url: URL

    /// Creates the folder if it does not exist.
    /// - Throws: ``StrataError`` with ``StrataError/Code/devicePersistenceFailure``.
    init(url: URL) throws(StrataError) {
        self.url = url
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw .file("the folder for content cannot be made", underlying: error)
        }
    }

    /// Runs blocking work on a separate thread.
    /// - Throws: the error of `body`; `CancellationError` if the task was cancelled before the work began.
    static func runBlocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await NIOThreadPool.singleton.runIfActive(body)
    }

    /// Refers to an existing folder, without creating it.
    init(existing url: URL) { self.url = url }

    // MARK: Names

    static func name(of content: ContentID, mimeType: String) -> String {
        "\(content).\(MIMEType.fileExtension(mimeType))"
    }

    /// Returns the file name of a part that was sent from this device. The part keeps this file after the upload.
    static func name(ofPart part: UUID, mimeType: String) -> String {
        "upload-\(part.uuidString.lowercased()).\(MIMEType.fileExtension(mimeType))"
    }

    func file(_ name: String) -> URL { url.appendingPathComponent(name, isDirectory: false) }

    func partialFile(of content: ContentID) -> URL { file("\(content).part") }

    // MARK: Writing

    /// Copies the bytes of a part into the folder, for its upload.
    /// - Returns: the name of the file.
    /// - Throws: ``StrataError`` with ``StrataError/Code/devicePersistenceFailure``;
    ///   ``StrataError/Code/invalidArgument`` if the part's file has changed.
    func stage(_ part: NewMessagePart, id: UUID) throws(StrataError) -> String {
        let name = Self.name(ofPart: id, mimeType: part.mimeType)
        let partial = file(name + ".part")
        try? FileManager.default.removeItem(at: partial)
        do {
            switch part.source {
            case .data(let data): try data.write(to: partial)
            case .file(let source): try FileManager.default.copyItem(at: source.resolvingSymlinksInPath(), to: partial)
            }
        } catch {
            try? FileManager.default.removeItem(at: partial)
            throw .file("the content of a part cannot be copied", underlying: error)
        }
        guard size(of: partial) == part.size else {
            try? FileManager.default.removeItem(at: partial)
            throw StrataError(.invalidArgument, "the file of a part has changed since the part was made")
        }
        try complete(partial, as: name)
        return name
    }

    /// Renames a complete file to its final name. An existing file with this name is kept, because content is
    /// immutable.
    func complete(_ partial: URL, as name: String) throws(StrataError) {
        do {
            let handle = try FileHandle(forUpdating: partial)
            try handle.synchronize()
            try handle.close()
            if FileManager.default.fileExists(atPath: file(name).path) {
                try FileManager.default.removeItem(at: partial)
            } else {
                try FileManager.default.moveItem(at: partial, to: file(name))
            }
        } catch {
            throw .file("the content of a part cannot be kept", underlying: error)
        }
    }

    // MARK: Reading and removing

    /// Returns the size of a file in bytes; nil if the file does not exist.
    func size(of file: URL) -> Int? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path) else { return nil }
        return (attributes[.size] as? NSNumber)?.intValue
    }

    /// The total size of all files in the folder, in bytes.
    var utilization: Int {
        names.reduce(0) { $0 + (size(of: file($1)) ?? 0) }
    }

    /// Removes files. Missing files are ignored.
    func removeFiles(_ names: some Sequence<String>) {
        for name in names { try? FileManager.default.removeItem(at: file(name)) }
    }

    /// Removes files that no part refers to. A killed process may have left them.
    /// - Parameters:
    ///   - kept: the names of the files that parts refer to.
    ///   - resumable: the content whose download can be resumed.
    func removeLeftovers(keeping kept: Set<String>, resumable: Set<ContentID>) {
        let partials = Set(resumable.map { partialFile(of: $0).lastPathComponent })
        removeFiles(names.filter { !kept.contains($0) && !partials.contains($0) })
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] }
}

extension StrataError {
    static func file(_ what: String, underlying error: any Error) -> StrataError {
        StrataError(.devicePersistenceFailure, "\(what): \(error)", underlying: [error])
    }
}

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
