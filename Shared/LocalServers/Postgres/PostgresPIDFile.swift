// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// What PostgreSQL writes into `postmaster.pid` of its data directory.
struct PostgresPIDFile: Equatable {
    let pid: Int32
    let port: Int?
    /// The identifier of its System V segment, by which a second server would notice it; the kernel keeps that when the server is killed.
    let sharedMemory: Int32?
    /// It accepts connections.
    let isReady: Bool

    /// Reads the lines PostgreSQL defines: process id first, port fourth, key and identifier of its segment seventh, state eighth.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
        guard let first = lines.first, let pid = Int32(first), pid > 0 else { return nil }
        self.pid = pid
        self.port = lines.count > 3 ? Int(lines[3]) : nil
        self.sharedMemory = lines.count > 6 ? lines[6].split(separator: " ").last.flatMap { Int32($0) } : nil
        self.isReady = lines.count > 7 && lines[7] == "ready"
    }

    /// The file of a data directory; nil if there is none, or it is not complete.
    static func read(data: String) -> PostgresPIDFile? {
        (try? String(contentsOfFile: path(data: data), encoding: .utf8)).flatMap(PostgresPIDFile.init)
    }

    static func path(data: String) -> String {
        data + "/postmaster.pid"
    }

    /// Whether the process it names is a PostgreSQL on this very directory. After a crash the number may belong to any process.
    func isAlive(data: String) -> Bool {
        guard let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") else { return false }
        return Self.real(directory) == Self.real(data)
    }

    /// A path without links in it.
    static func real(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
