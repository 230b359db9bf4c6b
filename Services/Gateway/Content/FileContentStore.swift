// SPDX-License-Identifier: Apache-2.0
import Glibc
import NIOCore
import StrataModel

/// A content store of files below one directory, on one machine or on a volume that all gateways share.
///
/// A file is written as `incoming/<id>`. When it is complete and on the disk, it gets its final name `ab/cd/<id>`. A
/// ``ContentTrailer`` follows the content's bytes. A later upload of the same content removes the temporary name and
/// truncates the file; the earlier upload ends at its next write.
struct FileContentStore: ContentStore {
    private let directory: String
    private let calls: FileCalls

    /// The directory of unfinished files.
    private var incoming: String { directory + "/incoming" }
    /// The number of bytes that are collected before a write.
    static let writeBytes = 256 * 1024
    /// The maximum number of written bytes that are not yet on the disk. It bounds the final `fsync` of a large upload.
    private static let unsyncedBytes = 64 << 20
    /// The number of attempts to create a file while other uploads of the same content begin.
    private static let beginAttempts = 10
    /// The time without a write, in seconds, after which an unfinished file counts as abandoned.
    private static let leftoverAge = 86_400

    /// Creates the directory if it is missing.
    /// - Throws: ``ContentStoreError/failed(_:)`` if it cannot be used.
    init(directory: String, calls: FileCalls = FileCalls()) throws(ContentStoreError) {
        var path = directory
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.directory = path
        self.calls = calls
        try Self.makeDirectories(path + "/incoming")
        guard access(path + "/incoming", R_OK | W_OK | X_OK) == 0 else { throw .system("use of the directory") }
    }

    func bufferedBytes(of size: Int) -> Int { Self.writeBytes }

    /// Returns nil: clients cannot reach the disk.
    func directURL(of id: ContentID, isHead: Bool, until expiresAt: Timestamp) -> String? { nil }

    // MARK: Writing

    func write<Bytes: AsyncSequence & Sendable>(
        _ id: ContentID, type: String, size: Int, from bytes: Bytes
    ) async throws(ContentStoreError) where Bytes.Element == ByteBuffer {
        let temporary = "\(incoming)/\(id)"
        let file = try await FileCalls.run { () throws(ContentStoreError) in try begin(temporary) }
        do throws(ContentStoreError) {
            try await copy(bytes, to: file, size: size)
            let trailer = ContentTrailer(type: type, size: size).bytes
            try await FileCalls.run { () throws(ContentStoreError) in
                try calls.writeAll(trailer, to: file, at: size)
                try calls.syncAll(file)
                try publish(file, at: temporary, as: id)
            }
        } catch {
            _ = try? await FileCalls.run { () throws(ContentStoreError) in if file.links > 0 { unlink(temporary) } }
            // The later upload may already be complete. Then the content exists.
            if error == .superseded, try await open(id) != nil { return }
            throw error
        }
    }

    /// Creates a temporary file and removes that of an earlier upload.
    private func begin(_ temporary: String) throws(ContentStoreError) -> OpenFile {
        for _ in 0..<Self.beginAttempts {
            if let earlier = OpenFile(temporary, flags: O_WRONLY) {
                unlink(temporary)
                // A file with another name was just published. A file without one is truncated, because its upload may
                // wait long for bytes and would keep the room.
                if earlier.links == 0 { _ = ftruncate(earlier.descriptor, 0) }
            }
            if let file = OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_EXCL) { return file }
            guard errno == EEXIST else { throw .system("create") }
        }
        throw .superseded
    }

    /// Writes the bytes to a file.
    /// - Throws: `wrongLength` unless there are exactly `size` bytes; `brokenOff` if they end with an error;
    ///   `superseded` if a later upload has replaced the file.
    private func copy<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes, to file: OpenFile, size: Int
    ) async throws(ContentStoreError) where Bytes.Element == ByteBuffer {
        var (collected, written, synced) = (ByteBuffer(), 0, 0)
        do {
            for try await next in bytes {
                guard written + collected.readableBytes + next.readableBytes <= size else {
                    throw ContentStoreError.wrongLength
                }
                collected.writeImmutableBuffer(next)
                guard collected.readableBytes >= Self.writeBytes else { continue }
                let syncs = written + collected.readableBytes - synced >= Self.unsyncedBytes
                try await put(collected, into: file, at: written, syncs: syncs)
                written += collected.readableBytes
                if syncs { synced = written }
                collected = ByteBuffer()
            }
        } catch let error as ContentStoreError {
            throw error
        } catch {
            throw .brokenOff
        }
        guard written + collected.readableBytes == size else { throw .wrongLength }
        try await put(collected, into: file, at: written, syncs: false)
    }

    private func put(
        _ chunk: ByteBuffer, into file: OpenFile, at offset: Int, syncs: Bool
    ) async throws(ContentStoreError) {
        try await FileCalls.run { () throws(ContentStoreError) in
            guard file.links > 0 else { throw .superseded }
            try calls.writeAll(chunk, to: file, at: offset)
            if syncs { try calls.syncAll(file) }
        }
    }

    /// Gives a complete file its final name. If the content already exists, nothing changes.
    private func publish(_ file: OpenFile, at temporary: String, as id: ContentID) throws(ContentStoreError) {
        let (first, folder) = folders(of: id)
        try Self.makeDirectories(folder)
        if file.link(to: path(of: id)) {
            unlink(temporary)
        } else {
            let code = errno
            guard file.links > 0 else { throw .superseded }
            // Some file systems have no hard links.
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, ENOENT].contains(code), rename(temporary, path(of: id)) == 0
            else { throw .system("rename") }
        }
        for path in [folder, first, directory] { try calls.syncDirectory(path) }
    }

    // MARK: Reading and removing

    func open(_ id: ContentID) async throws(ContentStoreError) -> (any ContentReader)? {
        try await FileCalls.run { () throws(ContentStoreError) -> (any ContentReader)? in
            guard let file = OpenFile(path(of: id), flags: O_RDONLY) else {
                if errno == ENOENT || errno == ENOTDIR { return nil }
                throw .system("open")
            }
            guard let trailer = try ContentTrailer(endOf: file) else { throw .failed("open: the file is damaged") }
            return FileContentReader(file: file, type: trailer.type, size: trailer.size)
        }
    }

    func remove(_ id: ContentID) async throws(ContentStoreError) {
        try await FileCalls.run { () throws(ContentStoreError) in
            guard unlink(path(of: id)) == 0 || errno == ENOENT || errno == ENOTDIR else { throw .system("remove") }
        }
    }

    func room() async throws(ContentStoreError) -> ContentRoom? {
        try await FileCalls.run { () throws(ContentStoreError) in
            var found = statvfs()
            guard statvfs(directory, &found) == 0 else { throw .system("statvfs") }
            return ContentRoom(found)
        }
    }

    func removeLeftovers() async throws(ContentStoreError) -> Int {
        try await FileCalls.run { () throws(ContentStoreError) in
            try removeLeftovers(before: Int(time(nil)) - Self.leftoverAge)
        }
    }

    private func removeLeftovers(before limit: Int) throws(ContentStoreError) -> Int {
        guard let listing = opendir(incoming) else { throw .system("list") }
        defer { closedir(listing) }
        var count = 0
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { start in
                start.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let path = incoming + "/" + name
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int(status.st_mtim.tv_sec) < limit
            else { continue }
            if unlink(path) == 0 { count += 1 }
        }
        return count
    }

    // MARK: Paths

    private func folders(of id: ContentID) -> (first: String, second: String) {
        let text = id.description
        let first = "\(directory)/\(text.prefix(2))"
        return (first, "\(first)/\(text.dropFirst(2).prefix(2))")
    }

    private func path(of id: ContentID) -> String { "\(folders(of: id).second)/\(id)" }

    private static func makeDirectories(_ path: String) throws(ContentStoreError) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw .system("make directory")
        }
        try makeDirectories(String(path[..<slash]))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .system("make directory") }
    }
}

private struct FileContentReader: ContentReader {
    let file: OpenFile
    let type: String
    let size: Int

    func pieces(of range: Range<Int>) -> any ContentPieces { FilePieces(file: file, rest: range) }
}

private struct FilePieces: ContentPieces {
    let file: OpenFile
    var rest: Range<Int>

    /// The number of bytes in one read.
    private static let chunkBytes = 64 * 1024

    mutating func next() async throws -> ByteBuffer? {
        let (file, offset, count) = (file, rest.lowerBound, min(rest.count, Self.chunkBytes))
        guard count > 0 else { return nil }
        let chunk = try await FileCalls.run { () throws(ContentStoreError) in try file.read(at: offset, count: count) }
        guard chunk.readableBytes == count else { throw ContentStoreError.failed("read: the file is truncated") }
        rest = offset + count..<rest.upperBound
        return chunk
    }
}

extension ContentRoom {
    /// Creates the capacity from a file system's statistics. Some file systems report huge numbers for no limit.
    init(_ found: statvfs) {
        func bytes(_ blocks: some BinaryInteger) -> Int {
            let (bytes, isBeyond) = Int(clamping: blocks).multipliedReportingOverflow(by: Int(clamping: found.f_frsize))
            return isBeyond ? .max : bytes
        }
        // Room reserved for root does not count as free.
        self.init(
            freeBytes: bytes(found.f_bavail), bytes: bytes(found.f_blocks),
            freeFiles: found.f_files > 0 ? Int(clamping: found.f_favail) : nil,
            files: found.f_files > 0 ? Int(clamping: found.f_files) : nil)
    }
}

/// The trailer of a content file, which follows the content's bytes and names their type and number. A truncated file
/// has no valid trailer and is not served.
///
/// Layout: the type in UTF-8, the number of content bytes (8 bytes), the length of the type (2 bytes), and a constant
/// mark (8 bytes).
struct ContentTrailer: Hashable {
    let type: String
    let size: Int

    private static let mark = Array("strata01".utf8)
    /// The number of bytes after the type.
    private static let fixedBytes = 18
    static let typeBytes = 255

    init(type: String, size: Int) {
        self.type = type
        self.size = size
    }

    var bytes: ByteBuffer {
        var buffer = ByteBuffer(string: type)
        let length = UInt16(clamping: buffer.readableBytes)
        buffer.writeInteger(UInt64(clamping: size))
        buffer.writeInteger(length)
        buffer.writeBytes(Self.mark)
        return buffer
    }

    /// Reads the trailer of a file. Nil if it is missing or invalid.
    init?(endOf file: OpenFile) throws(ContentStoreError) {
        guard let length = file.size, length >= Self.fixedBytes else { return nil }
        var end = try file.read(
            at: max(0, length - Self.fixedBytes - Self.typeBytes), count: Self.fixedBytes + Self.typeBytes)
        let typeRoom = end.readableBytes - Self.fixedBytes
        guard var fixed = end.getSlice(at: typeRoom, length: Self.fixedBytes),
            let size = fixed.readInteger(as: UInt64.self),
            let typeLength = fixed.readInteger(as: UInt16.self).map({ Int($0) }),
            fixed.readBytes(length: 8) == Self.mark, typeLength <= typeRoom,
            length - Self.fixedBytes - typeLength == Int(clamping: size)
        else { return nil }
        end.moveReaderIndex(forwardBy: typeRoom - typeLength)
        guard let type = end.readString(length: typeLength) else { return nil }
        self.init(type: type, size: Int(clamping: size))
    }
}
