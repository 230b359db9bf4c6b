// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The right to run a system in a home. The kernel takes it back when the process ends, however it ends: a lock file alone says nothing.
final class HomeLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock.
    /// - Throws: ``CommandFailure`` that names the process that has it.
    init(_ home: StrataHome) throws {
        let descriptor = open(home.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw CommandFailure(.cannotCreate, "The file \(home.lock) cannot be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            let holder = (try? String(contentsOfFile: home.lock, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
            let who = holder.isEmpty ? "Another process" : "Process \(holder)"
            throw CommandFailure(
                .temporary,
                "\(who) already runs a system in \(home.path). Stop it first, or set STRATA_HOME to another directory and choose other ports.")
        }
        ftruncate(descriptor, 0)
        let text = Array("\(getpid())\n".utf8)
        _ = pwrite(descriptor, text, text.count, 0)
        self.descriptor = descriptor
    }

    /// Whether some process holds the lock of a home now.
    static func isHeld(_ home: StrataHome) -> Bool {
        let descriptor = open(home.lock, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    deinit {
        ftruncate(descriptor, 0)
        close(descriptor)
    }
}
