// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Helpers for small files that only their owner can read.
enum PrivateFile {
    /// Reads a file.
    /// - Returns: nil if the file does not exist.
    /// - Throws: an error if the file exists but cannot be read at the moment.
    static func read(_ url: URL) throws -> Data? {
        do {
            return try Data(contentsOf: url)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        }
    }

    /// Replaces the file atomically. The file has mode 0600 from its creation, and is synchronized to the disk when the
    /// call returns.
    static func write(_ data: Data, to url: URL) throws {
        let draft = url.appendingPathExtension("new").path(percentEncoded: false)
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: data)
        try handle.synchronize()
        try handle.close()
        guard rename(draft, url.path(percentEncoded: false)) == 0 else { throw failure() }
    }

    /// Removes a file or folder. Does nothing if it does not exist.
    static func remove(_ url: URL) throws {
        do {
            try FileManager.default.removeItem(at: url)
        } catch let error as CocoaError where error.code == .fileNoSuchFile || error.code == .fileReadNoSuchFile {
            return
        }
    }

    private static func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
