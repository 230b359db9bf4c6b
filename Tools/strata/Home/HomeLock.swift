// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The exclusive right to run a system in a home. The kernel releases the lock when the process ends for any reason.
/// The mere existence of the lock file means nothing.
final class HomeLock: Sendable {
    private let descriptor: Int32
    /// `F_OFD_GETLK` and `F_OFD_SETLK` of Linux, which the C library's module does not export to Swift.
    private static let (getLock, setLock) = (Int32(36), Int32(37))

    /// Takes the lock.
    /// - Throws: ``CommandFailure`` that names the process that holds it.
    init(_ home: StrataHome) throws {
        let descriptor = open(home.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .cannotCreate, "The file \(home.lock) cannot be opened: \(String(cString: strerror(errno)))")
        }
        var wanted = Self.wholeFile
        guard fcntl(descriptor, Self.setLock, &wanted) == 0 else {
            close(descriptor)
            let holder =
                (try? String(contentsOfFile: home.lock, encoding: .utf8))?
                .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
            let who = holder.isEmpty ? "Another process" : "Process \(holder)"
            throw CommandFailure(
                .temporary,
                """
                \(who) already runs a system in \(home.path). Stop it first, or set STRATA_HOME to another directory \
                and choose other ports.
                """
            )
        }
        ftruncate(descriptor, 0)
        let text = Array("\(getpid())\n".utf8)
        _ = pwrite(descriptor, text, text.count, 0)
        self.descriptor = descriptor
    }

    /// Returns true if a process holds the lock of a home. The check never takes the lock, because a process that
    /// starts at that moment must get it.
    static func isHeld(_ home: StrataHome) -> Bool {
        let descriptor = open(home.lock, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var wanted = wholeFile
        return fcntl(descriptor, getLock, &wanted) == 0 && wanted.l_type != Int16(F_UNLCK)
    }

    /// A lock of the open file description, not of the process. It therefore also excludes other locks of this process.
    private static var wholeFile: Glibc.flock {
        var lock = Glibc.flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return lock
    }

    deinit {
        ftruncate(descriptor, 0)
        close(descriptor)
    }
}
