// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// The directory with all files of one system on this machine: `.strata`, or the directory named by `STRATA_HOME`.
struct StrataHome: Sendable, Equatable {
    let path: String

    /// Creates a reference to the home of a command.
    /// - Parameter environment: The environment of the process. `STRATA_HOME` may be relative to the current directory.
    init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        current: String = FileManager.default.currentDirectoryPath
    ) {
        let given = environment["STRATA_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? ".strata"
        let absolute = given.hasPrefix("/") ? given : "\(current)/\(given)"
        path = URL(fileURLWithPath: absolute).standardizedFileURL.path(percentEncoded: false).trimmingSuffix("/")
    }

    var postgres: String { postgres(of: 1) }
    var redis: String { path + "/redis" }
    var logs: String { path + "/logs" }
    var content: String { path + "/content" }
    var keys: String { path + "/keys" }
    var tls: String { path + "/tls" }
    var lock: String { path + "/lock" }
    var secrets: String { path + "/secrets.json" }
    var state: String { path + "/state.json" }

    /// Returns the directory of a database's server.
    /// - Parameter number: The number of the database, counted from 1.
    func postgres(of number: Int) -> String { path + (number == 1 ? "/postgres" : "/postgres-\(number)") }

    /// Creates the directories. Every user may enter the home, because PostgreSQL may run as another user. Its
    /// confidential files are not readable for others.
    func make() throws {
        try Self.makeDirectory(path, mode: 0o711)
        for directory in [logs, content, keys, tls, redis] { try Self.makeDirectory(directory, mode: 0o700) }
    }

    /// Creates only the directories for keys, for commands that use a database elsewhere.
    func makeKeys() throws {
        try Self.makeDirectory(path, mode: 0o711)
        try Self.makeDirectory(keys, mode: 0o700)
    }

    /// The directories that ``make()`` will create.
    struct New: Equatable, Sendable {
        /// The paths of the directories, parents first and the home last.
        let paths: [String]
    }

    /// The directories to be created; nil if the home exists.
    var newDirectories: New? {
        var paths: [String] = []
        var path = path
        while !FileManager.default.fileExists(atPath: path), path.count > 1 {
            paths.insert(path, at: 0)
            path = (path as NSString).deletingLastPathComponent
        }
        return paths.isEmpty ? nil : New(paths: paths)
    }

    /// Removes a home that a start has created without using it. Parent directories are removed only if they are empty.
    func remove(_ new: New) {
        guard new.paths.last == path else { return }
        if let elsewhere = try? FileManager.default.destinationOfSymbolicLink(atPath: postgres) {
            try? FileManager.default.removeItem(atPath: elsewhere)
        }
        try? FileManager.default.removeItem(atPath: path)
        for directory in new.paths.dropLast().reversed() { rmdir(directory) }
    }

    /// Removes a home that was created for keys, if it contains none.
    func removeIfEmpty(_ new: New) {
        rmdir(keys)
        for directory in new.paths.reversed() { rmdir(directory) }
    }

    private static func makeDirectory(_ path: String, mode: mode_t) throws {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "The directory \(path) cannot be created: \(error.localizedDescription)")
        }
        guard chmod(path, mode) == 0 else {
            throw CommandFailure(
                .cannotCreate, "The directory \(path) belongs to another user; set STRATA_HOME to one of your own.")
        }
    }
}

extension String {
    /// Returns the string without a suffix, unless the result would be empty.
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) && count > suffix.count ? String(dropLast(suffix.count)) : self
    }
}

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
