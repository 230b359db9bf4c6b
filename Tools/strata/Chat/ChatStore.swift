// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import StrataModel

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The local store of a `strata chat` user on this machine. A second terminal of the same user counts as another
/// device, with its own store.
struct ChatStore: Sendable {
    /// The directory for StrataKit.
    let directory: URL
    private let lock: FileLock

    /// Opens the user's first store that no other process uses.
    init(of user: UserID, in home: StrataHome) throws {
        for number in 1... {
            let path = "\(home.chat)/\(Self.name(of: user))" + (number == 1 ? "" : "-\(number)")
            try makePrivateDirectory(path)
            guard let lock = try FileLock(path + "/lock", waits: false) else { continue }
            self.lock = lock
            directory = URL(filePath: path)
            return
        }
        throw CommandFailure(.temporary, "All stores of \(user) are in use.")
    }

    /// Returns a file name with the readable characters of the id and a digest. An id may be longer than a file name
    /// and contain any character.
    private static func name(of user: UserID) -> String {
        let readable = user.rawValue.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(24)
        let digest = SHA256.hash(data: Data(user.rawValue.utf8)).prefix(6).map { String(format: "%02x", $0) }.joined()
        return "\(readable)-\(digest)"
    }
}

/// The app of `strata chat`: a given one, or one that all users of the command share.
struct ChatApp {
    private static let name = "Chat"

    let home: StrataHome

    /// Returns the given app. Creates nothing.
    func named(_ id: UUID) throws -> KeyRing.Entry {
        guard let entry = KeyRing(home: home).entries().first(where: { $0.app == id }) else {
            throw CommandFailure(
                .noInput,
                "There is no private key for \(LayerID.app.text(id)) in \(home.keys). Create an app here with: strata app create"
            )
        }
        return entry
    }

    /// Returns the shared app, which the first terminal creates.
    /// - Parameter database: The libpq URL of the database.
    func shared(database: String) async throws -> KeyRing.Entry {
        try home.makeKeys()
        try makePrivateDirectory(home.chat)
        // If two terminals start at once, one creates the app while the other waits for it.
        let lock = try FileLock(home.chat + "/lock", waits: true)
        defer { withExtendedLifetime(lock) {} }
        let ring = KeyRing(home: home)
        if let known = ring.entries().first(where: { $0.name == Self.name }) { return known }
        let new = try NewApp(name: Self.name)
        _ = try new.privateKey.map { try ring.addApp(new, privateKey: $0) }
        do {
            try await AppStore(url: database).insert(new)
        } catch {
            ring.remove(new)
            throw error
        }
        return try ring.entry(for: new.id)
    }
}

extension StrataHome {
    fileprivate var chat: String { path + "/chat" }
}

/// Creates a directory that only its owner can enter, and its parents.
private func makePrivateDirectory(_ path: String) throws {
    do {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
        throw CommandFailure(.cannotCreate, "The directory \(path) cannot be made: \(error.localizedDescription)")
    }
}

/// A lock between processes. The kernel releases it when the process ends.
private final class FileLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock; nil if another process holds it and `waits` is false.
    /// - Parameter waits: True to wait until another process releases the lock.
    /// - Throws: ``CommandFailure`` if the file cannot be created.
    init?(_ path: String, waits: Bool) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .cannotCreate, "The file \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        var result = flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB)
        while result != 0, errno == EINTR { result = flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB) }
        guard result == 0 else { return nil }
    }

    deinit { close(descriptor) }
}
