// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import TestSupport

/// The wall clock of processes that were started behind ``wrapper``: it may jump while they run. Their monotonic clock goes on as it was, as with a real jump.
package final class MovableClock: Sendable {
    private let file: String
    /// Words before a program that is to have this clock. The program only, and nothing that starts it: the library remembers who made what it shares.
    package let wrapper: [String]

    /// The library that does it, of Debian's package `libfaketime`.
    private static let library: String? = {
        let directories = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/lib"]
        return directories.map { $0 + "/faketime/libfaketime.so.1" }.first(where: FileManager.default.fileExists(atPath:))
    }()

    /// Why there can be none on this machine; nil if there can.
    package static let obstacle: String? = library == nil ? "needs libfaketime" : nil

    package init() throws {
        guard let library = Self.library else { throw LocalServerError(.missingProgram, "libfaketime is not installed") }
        Self.removeStale
        // PostgreSQL is another user.
        file = try TestDirectory.make("clock") + "/offset"
        wrapper = [
            try Programs.find("env"), "LD_PRELOAD=\(library)", "FAKETIME_TIMESTAMP_FILE=\(file)", "FAKETIME_CACHE_DURATION=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        ]
        try jump(to: 0)
    }

    /// Removes, once, what the library shares under the number of the process that made it, and which one that was killed leaves behind.
    private static let removeStale: Void = {
        let directory = "/dev/shm"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard let match = name.wholeMatch(of: /(?:faketime_shm|sem\.faketime_sem)_([0-9]+)/), let pid = Int32(match.1) else { continue }
            if kill(pid, 0) != 0, errno == ESRCH { unlink("\(directory)/\(name)") }
        }
    }()

    /// - Parameter seconds: how far it is ahead of the machine's from now on; noticed within a second.
    package func jump(to seconds: Int) throws {
        try Data("\(seconds < 0 ? "-" : "+")\(abs(seconds))".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    }
}
