// SPDX-License-Identifier: Apache-2.0
import Glibc
import NIOCore
import NIOPosix

/// Blocking file operations. ``run(_:)`` performs them on a thread that may block. Tests can make the calls fail.
struct FileCalls: Sendable {
    /// The arguments are those of `pwrite`: descriptor, bytes, count, offset.
    var write: @Sendable (Int32, UnsafeRawPointer, Int, Int) -> Int = { pwrite($0, $1, $2, off_t($3)) }
    var sync: @Sendable (Int32) -> Int32 = { fsync($0) }

    /// Dedicated threads, so that a slow disk does not delay other work in the shared pool. They live as long as the
    /// process.
    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 8)
        pool.start()
        return pool
    }()

    /// Runs blocking work. Task cancellation does not interrupt it, so that it always finishes in order.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(ContentStoreError) -> Value
    ) async throws(ContentStoreError) -> Value {
        let result: Result<Value, ContentStoreError> = await withCheckedContinuation { continuation in
            threads.submit { _ in
                do throws(ContentStoreError) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    func writeAll(_ bytes: ByteBuffer, to file: OpenFile, at offset: Int) throws(ContentStoreError) {
        var done = 0
        while done < bytes.readableBytes {
            let count = bytes.withUnsafeReadableBytes { source -> Int in
                guard let start = source.baseAddress else { return 0 }
                return write(file.descriptor, start + done, source.count - done, offset + done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("write") }
            done += count
        }
    }

    /// Returns when all written bytes are on the disk.
    func syncAll(_ file: OpenFile) throws(ContentStoreError) {
        while sync(file.descriptor) != 0 {
            guard errno == EINTR else { throw .system("fsync") }
        }
    }

    func syncDirectory(_ path: String) throws(ContentStoreError) {
        guard let directory = OpenFile(path, flags: O_RDONLY | O_DIRECTORY) else { throw .system("open directory") }
        try syncAll(directory)
    }
}

/// A file descriptor that is closed with its last reference.
final class OpenFile: Sendable {
    let descriptor: Int32

    /// Opens a file. Nil on failure; the reason is in `errno`.
    init?(_ path: String, flags: Int32) {
        var result = Glibc.open(path, flags | O_CLOEXEC, 0o600 as mode_t)
        while result < 0, errno == EINTR { result = Glibc.open(path, flags | O_CLOEXEC, 0o600 as mode_t) }
        guard result >= 0 else { return nil }
        descriptor = result
    }

    deinit { _ = Glibc.close(descriptor) }

    /// The size of the file, in bytes; nil if it is not a regular file.
    var size: Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// The number of names of the file. A file without names takes no room once it is closed.
    var links: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_nlink) : 0
    }

    /// Gives the file another name. Fails for a file without a name, even if another file has its former path.
    func link(to path: String) -> Bool {
        if linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 { return true }
        return errno == EEXIST
    }

    /// Reads `count` bytes, or fewer at the end of the file.
    func read(at offset: Int, count: Int) throws(ContentStoreError) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(count)
        while buffer.readableBytes < count {
            let wanted = count - buffer.readableBytes
            let place = off_t(offset + buffer.readableBytes)
            var result = 0
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { target in
                result = pread(descriptor, target.baseAddress, wanted, place)
                return max(0, result)
            }
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { throw .system("read") }
            if result == 0 { break }
        }
        return buffer
    }
}

extension ContentStoreError {
    static func system(_ call: String) -> ContentStoreError {
        let code = errno
        let reason = "\(call): \(String(cString: strerror(code)))"
        return [ENOSPC, EDQUOT, EFBIG].contains(code) ? .full(reason) : .failed(reason)
    }
}
