// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The directory in which everything of one system on this machine lies: `.strata`, or what `STRATA_HOME` names.
struct StrataHome: Sendable, Equatable {
    let path: String

    /// The home a command works on.
    /// - Parameters:
    ///   - environment: of the process; `STRATA_HOME` may be relative to the current directory.
    ///   - current: the current directory.
    init(environment: [String: String] = ProcessInfo.processInfo.environment, current: String = FileManager.default.currentDirectoryPath) {
        let given = environment["STRATA_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? ".strata"
        let absolute = given.hasPrefix("/") ? given : "\(current)/\(given)"
        path = URL(fileURLWithPath: absolute).standardizedFileURL.path(percentEncoded: false).trimmingSuffix("/")
    }

    var postgres: String { path + "/postgres" }
    var redis: String { path + "/redis" }
    var logs: String { path + "/logs" }
    var content: String { path + "/content" }
    var keys: String { path + "/keys" }
    var tls: String { path + "/tls" }
    var lock: String { path + "/lock" }
    var secrets: String { path + "/secrets.json" }
    var state: String { path + "/state.json" }

    /// Makes the directories. Every user may enter the home itself, since PostgreSQL may run as another user; what is secret in it cannot be read.
    func make() throws {
        try Self.makeDirectory(path, mode: 0o711)
        for directory in [logs, content, keys, tls, redis] { try Self.makeDirectory(directory, mode: 0o700) }
    }

    /// Makes what is needed to keep keys, and nothing else: for commands that work on a database elsewhere.
    func makeKeys() throws {
        try Self.makeDirectory(path, mode: 0o711)
        try Self.makeDirectory(keys, mode: 0o700)
    }

    /// Directories that ``make()`` will make.
    struct New: Equatable, Sendable {
        /// Those above the home, the home itself last.
        let paths: [String]
    }

    /// Nil if the home is there already.
    var newDirectories: New? {
        var paths: [String] = []
        var path = path
        while !FileManager.default.fileExists(atPath: path), path.count > 1 {
            paths.insert(path, at: 0)
            path = (path as NSString).deletingLastPathComponent
        }
        return paths.isEmpty ? nil : New(paths: paths)
    }

    /// Removes a home that a start has made and not used. Directories above it go only if they are empty.
    func remove(_ new: New) {
        guard new.paths.last == path else { return }
        if let elsewhere = try? FileManager.default.destinationOfSymbolicLink(atPath: postgres) {
            try? FileManager.default.removeItem(atPath: elsewhere)
        }
        try? FileManager.default.removeItem(atPath: path)
        for directory in new.paths.dropLast().reversed() { rmdir(directory) }
    }

    /// Removes a home that was made for keys, if there are none in it.
    func removeIfEmpty(_ new: New) {
        rmdir(keys)
        for directory in new.paths.reversed() { rmdir(directory) }
    }

    private static func makeDirectory(_ path: String, mode: mode_t) throws {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(.cannotCreate, "The directory \(path) cannot be made: \(error.localizedDescription)")
        }
        guard chmod(path, mode) == 0 else {
            throw CommandFailure(.cannotCreate, "The directory \(path) belongs to another user; set STRATA_HOME to one of your own.")
        }
    }
}

extension String {
    /// Without a suffix, unless nothing would be left.
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) && count > suffix.count ? String(dropLast(suffix.count)) : self
    }
}
