// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A directory that a server running as another user can own and reach.
enum ServerDirectory {
    /// Makes `path` ready for a server.
    /// - Parameters:
    ///   - path: where the server's files should be.
    ///   - user: who the server runs as; nil is ourselves, and then nothing can be in the way.
    ///   - notice: hears it when the files have to be somewhere else.
    /// - Returns: where they are: `path`, or a directory under `/var/tmp` that `path` then links to.
    static func prepare(_ path: String, for user: SystemUser?, notice: @Sendable (String) -> Void) async throws -> String {
        if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
            try makeDirectory(target, mode: 0o700, owner: user)
            return target
        }
        let parent = (path as NSString).deletingLastPathComponent
        try makeParents(parent)
        guard let user, try await !canTraverse(parent, as: user) else {
            try makeDirectory(path, mode: 0o700, owner: user)
            return path
        }
        let fallback = try fallbackDirectory(for: path, user: user)
        try attempt(to: "link \(path) to \(fallback)") { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fallback) }
        notice("PostgreSQL runs as user \(user.name), who cannot enter \(parent); its files are in \(fallback)")
        return fallback
    }

    /// Makes one directory, unless it exists, and sets its owner and mode.
    static func makeDirectory(_ path: String, mode: mode_t, owner: SystemUser?) throws {
        if mkdir(path, mode) != 0, errno != EEXIST { throw unusable(path, cannotBe: "made") }
        var info = stat()
        guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
            throw LocalServerError(.unusableDirectory, "\(path) is not a directory")
        }
        if info.st_mode & 0o7777 != mode, chmod(path, mode) != 0 { throw unusable(path, cannotBe: "protected") }
        if let owner, info.st_uid != owner.uid, chown(path, owner.uid, owner.gid) != 0 { throw unusable(path, cannotBe: "given to \(owner.name)") }
    }

    private static func makeParents(_ path: String) throws {
        try attempt(to: "make \(path)") { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    }

    /// Whether the user can enter a directory, asked of the system itself: modes, lists and mounts all count.
    private static func canTraverse(_ path: String, as user: SystemUser) async throws -> Bool {
        let shell = try Programs.find("sh")
        return try await ChildProcess.run(Launch(shell, arguments: ["-c", #"cd "$1""#, "sh", path], directory: "/", user: user)).isSuccess
    }

    /// `/var/tmp/strata-<digest of the path>/<last component>`. The outer directory must be ours: its name can be guessed, so others could have made it.
    private static func fallbackDirectory(for path: String, user: SystemUser) throws -> String {
        let outer = "/var/tmp/strata-" + String(fingerprint(of: path), radix: 16)
        if mkdir(outer, 0o711) != 0, errno != EEXIST { throw unusable(outer, cannotBe: "made") }
        var info = stat()
        guard lstat(outer, &info) == 0, info.st_mode & S_IFMT == S_IFDIR, info.st_uid == geteuid() else {
            throw LocalServerError(.unusableDirectory, "\(outer) belongs to another user; set STRATA_HOME to a directory every user can enter")
        }
        try makeDirectory(outer, mode: 0o711, owner: nil)
        let inner = "\(outer)/\((path as NSString).lastPathComponent)"
        try makeDirectory(inner, mode: 0o700, owner: user)
        return inner
    }

    /// FNV-1a, 64 bits: it has to be the same in every process, which `Hasher` is not.
    private static func fingerprint(of text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    private static func unusable(_ path: String, cannotBe verb: String) -> LocalServerError {
        LocalServerError(.unusableDirectory, "\(path) cannot be \(verb): \(String(cString: strerror(errno)))")
    }

    private static func attempt(to what: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            throw LocalServerError(.unusableDirectory, "Cannot \(what): \(error.localizedDescription)")
        }
    }
}
