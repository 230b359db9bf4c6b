// SPDX-License-Identifier: Apache-2.0
import Glibc
import NIOCore
import NIOPosix

/// What is done with files, all of it blocking; ``run(_:)`` does it on a thread that may block. A test can make the calls fail.
struct FileCalls: Sendable {
    /// `pwrite`: descriptor, bytes, how many, offset.
    var write: @Sendable (Int32, UnsafeRawPointer, Int, Int) -> Int = { pwrite($0, $1, $2, off_t($3)) }
    /// `fsync`.
    var sync: @Sendable (Int32) -> Int32 = { fsync($0) }

    /// Threads of their own: a slow disk must not hold up what others do in the shared pool. They live as long as the process.
    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 8)
        pool.start()
        return pool
    }()

    /// Runs blocking work. It is not cancelled with the task: what has been begun is ended in order.
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

    /// Returns once all that was written is on the disk.
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

/// A file descriptor that is closed when its last user has let it go.
final class OpenFile: Sendable {
    let descriptor: Int32

    /// Nil: `errno` says why.
    init?(_ path: String, flags: Int32) {
        var result = Glibc.open(path, flags | O_CLOEXEC, 0o600 as mode_t)
        while result < 0, errno == EINTR { result = Glibc.open(path, flags | O_CLOEXEC, 0o600 as mode_t) }
        guard result >= 0 else { return nil }
        descriptor = result
    }

    deinit { _ = Glibc.close(descriptor) }

    /// In bytes; nil for what is no plain file.
    var size: Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Names that the file has. A file without any takes no room once it is closed.
    var links: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_nlink) : 0
    }

    /// Gives the file another name. It fails for a file that has none, whatever is at its former path now.
    func link(to path: String) -> Bool {
        if linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 { return true }
        return errno == EEXIST
    }

    /// Reads until there are `count` bytes, or the file has ended.
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
