// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The local store of a user on this device. A second terminal of the same user counts as another device, with its own
/// store.
struct ChatStore: Sendable {
    /// The directory for StrataKit.
    let directory: URL
    private let lock: FileLock

    /// Opens the user's first store that no other process uses.
    /// - Parameter parent: The directory with the stores of all users.
    init(of user: UserID, in parent: URL) throws {
        var number = 1
        while true {
            let directory = parent.appending(path: Self.name(of: user) + (number == 1 ? "" : "-\(number)"))
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            if let lock = try FileLock(directory.appending(path: "lock").path(percentEncoded: false)) {
                (self.directory, self.lock) = (directory, lock)
                return
            }
            number += 1
        }
    }

    /// Returns a file name with the readable characters of the id and a hash (FNV-1a). An id may be longer than a file
    /// name and contain any character.
    static func name(of user: UserID) -> String {
        let readable = user.rawValue.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(24)
        let hash = user.rawValue.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return "\(readable)-\(String(hash, radix: 16))"
    }
}

/// A lock between processes. The kernel releases it when the process ends.
private final class FileLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock; nil if another process holds it.
    /// - Throws: ``ChatFailure`` if the file cannot be created.
    init?(_ path: String) throws(ChatFailure) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ChatFailure("The file \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        var result = flock(descriptor, LOCK_EX | LOCK_NB)
        while result != 0, errno == EINTR { result = flock(descriptor, LOCK_EX | LOCK_NB) }
        guard result == 0 else { return nil }
    }

    deinit { close(descriptor) }
}
