// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Files that only their owner may read.
enum PrivateFile {
    /// Writes a file atomically: a temporary file is created with mode 0600, flushed, and renamed.
    static func write(_ bytes: Data, to path: String) throws {
        let draft = path + ".new"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: bytes)
            try handle.synchronize()
            try handle.close()
        } catch {
            throw CommandFailure(.cannotCreate, "The file \(path) cannot be written: \(error.localizedDescription)")
        }
        guard rename(draft, path) == 0 else { throw failure(path) }
    }

    /// Writes text atomically; see ``write(_:to:)-(Data,_)``.
    static func write(_ text: String, to path: String) throws {
        try write(Data(text.utf8), to: path)
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.cannotCreate, "The file \(path) cannot be written: \(String(cString: strerror(errno)))")
    }
}
