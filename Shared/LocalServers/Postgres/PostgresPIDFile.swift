// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The content of `postmaster.pid`, which PostgreSQL writes into its data directory.
struct PostgresPIDFile: Equatable {
    let pid: Int32
    let port: Int?
    /// The identifier of the server's System V shared memory segment, by which a second server detects the first. The
    /// kernel keeps the segment when the server is killed.
    let sharedMemory: Int32?
    /// True if the server accepts connections.
    let isReady: Bool

    /// Parses the lines that PostgreSQL defines: process id first, port fourth, key and identifier of the segment
    /// seventh, state eighth.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard let first = lines.first, let pid = Int32(first), pid > 0 else { return nil }
        self.pid = pid
        self.port = lines.count > 3 ? Int(lines[3]) : nil
        self.sharedMemory = lines.count > 6 ? lines[6].split(separator: " ").last.flatMap { Int32($0) } : nil
        self.isReady = lines.count > 7 && lines[7] == "ready"
    }

    /// Reads the file of a data directory. nil if there is none, or if it is incomplete.
    static func read(data: String) -> PostgresPIDFile? {
        (try? String(contentsOfFile: path(data: data), encoding: .utf8)).flatMap(PostgresPIDFile.init)
    }

    static func path(data: String) -> String {
        data + "/postmaster.pid"
    }

    /// Returns true if the named process is a PostgreSQL on this data directory. After a crash the process id may
    /// belong to any process.
    func isAlive(data: String) -> Bool {
        guard let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") else {
            return false
        }
        return Self.real(directory) == Self.real(data)
    }

    /// Returns the path with all links resolved.
    static func real(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
