// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import TestSupport

/// A wall clock for processes that are started with ``wrapper``. It can jump while they run. Their monotonic clock is
/// not affected, as with a real jump.
package final class MovableClock: Sendable {
    private let file: String
    /// The beginning of the command line of a program that uses this clock. It must directly precede the program,
    /// because the library records which process created its shared objects.
    package let wrapper: [String]

    /// The path of the library, from Debian's package `libfaketime`.
    private static let library: String? = {
        let directories = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/lib"]
        return directories.map { $0 + "/faketime/libfaketime.so.1" }
            .first(where: FileManager.default.fileExists(atPath:))
    }()

    /// The reason why this machine has no movable clocks; nil if it has.
    package static let obstacle: String? = library == nil ? "needs libfaketime" : nil

    package init() throws {
        guard let library = Self.library else {
            throw LocalServerError(.missingProgram, "libfaketime is not installed")
        }
        Self.removeStale
        // PostgreSQL runs as another user.
        file = try TestDirectory.make("clock") + "/offset"
        wrapper = [
            try Programs.find("env"), "LD_PRELOAD=\(library)", "FAKETIME_TIMESTAMP_FILE=\(file)",
            "FAKETIME_CACHE_DURATION=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        ]
        try jump(to: 0)
    }

    /// Removes, once, the library's shared objects of processes that were killed. Their names contain the id of the
    /// process.
    private static let removeStale: Void = {
        let directory = "/dev/shm"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard let match = name.wholeMatch(of: /(?:faketime_shm|sem\.faketime_sem)_([0-9]+)/),
                let pid = Int32(match.1)
            else { continue }
            if kill(pid, 0) != 0, errno == ESRCH { unlink("\(directory)/\(name)") }
        }
    }()

    /// Makes the clock jump.
    /// - Parameter seconds: The offset from the machine's clock. It takes effect within a second.
    package func jump(to seconds: Int) throws {
        try Data("\(seconds < 0 ? "-" : "+")\(abs(seconds))".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    }
}
