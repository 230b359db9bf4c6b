// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// Functions that prepare a directory for a server that may run as another user.
enum ServerDirectory {
    /// Prepares `path` for a server.
    /// - Parameters:
    ///   - path: The directory for the server's files.
    ///   - user: The user the server runs as. nil: the user of this process, who can access the directory in any case.
    ///   - notice: Called with a message if the files have to be elsewhere.
    /// - Returns: The directory of the files: `path`, or a directory under `/var/tmp` to which `path` then links.
    static func prepare(
        _ path: String, for user: SystemUser?, notice: @Sendable (String) -> Void
    ) async throws -> String {
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
        try attempt(to: "link \(path) to \(fallback)") {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fallback)
        }
        notice("PostgreSQL runs as user \(user.name), who cannot enter \(parent); its files are in \(fallback)")
        return fallback
    }

    /// Creates one directory, unless it exists, and sets its owner and mode.
    static func makeDirectory(_ path: String, mode: mode_t, owner: SystemUser?) throws {
        if mkdir(path, mode) != 0, errno != EEXIST { throw unusable(path, cannotBe: "made") }
        var info = stat()
        guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
            throw LocalServerError(.unusableDirectory, "\(path) is not a directory")
        }
        if info.st_mode & 0o7777 != mode, chmod(path, mode) != 0 { throw unusable(path, cannotBe: "protected") }
        if let owner, info.st_uid != owner.uid, chown(path, owner.uid, owner.gid) != 0 {
            throw unusable(path, cannotBe: "given to \(owner.name)")
        }
    }

    private static func makeParents(_ path: String) throws {
        try attempt(to: "make \(path)") {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
    }

    /// Returns true if the user can enter a directory. The check runs `cd` as that user, so modes, access control lists
    /// and mounts all count.
    private static func canTraverse(_ path: String, as user: SystemUser) async throws -> Bool {
        let shell = try Programs.find("sh")
        return
            try await ChildProcess.run(
                Launch(shell, arguments: ["-c", #"cd "$1""#, "sh", path], directory: "/", user: user)
            )
            .isSuccess
    }

    /// Returns `/var/tmp/strata-<digest of the path>/<last component>`.
    ///
    /// The outer directory must belong to this process's user. Its name is predictable, so another user could have
    /// created it.
    private static func fallbackDirectory(for path: String, user: SystemUser) throws -> String {
        let outer = "/var/tmp/strata-" + String(fingerprint(of: path), radix: 16)
        if mkdir(outer, 0o711) != 0, errno != EEXIST { throw unusable(outer, cannotBe: "made") }
        var info = stat()
        guard lstat(outer, &info) == 0, info.st_mode & S_IFMT == S_IFDIR, info.st_uid == geteuid() else {
            throw LocalServerError(
                .unusableDirectory,
                "\(outer) belongs to another user; set STRATA_HOME to a directory every user can enter")
        }
        try makeDirectory(outer, mode: 0o711, owner: nil)
        let inner = "\(outer)/\((path as NSString).lastPathComponent)"
        try makeDirectory(inner, mode: 0o700, owner: user)
        return inner
    }

    /// Returns an FNV-1a hash of 64 bits. `Hasher` is not suitable, because its hashes differ between processes.
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

/// A user of this machine.
public struct SystemUser: Sendable, Equatable {
    /// The name in the user database.
    public let name: String
    /// The numeric user id.
    public let uid: UInt32
    /// The numeric id of the main group.
    public let gid: UInt32

    /// Looks up a user by name; nil if there is none.
    public init?(named name: String) {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        self.name = name
        self.uid = entry.pw_uid
        self.gid = entry.pw_gid
    }

    /// True if this process runs as root.
    public static var isRoot: Bool {
        geteuid() == 0
    }

    /// The user PostgreSQL has to run as, because PostgreSQL refuses to run as root: `postgres`, or `nobody` if
    /// `postgres` does not exist. nil: this process's user, who is not root.
    public static var forPostgres: SystemUser? {
        guard isRoot else { return nil }
        return SystemUser(named: "postgres") ?? SystemUser(named: "nobody")
    }
}
