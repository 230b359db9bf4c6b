// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The list of an app's sessions on this device, in a file beside their stores. Tokens are in a ``TokenStore``. If the
/// file cannot be written, a change has no effect.
struct SessionFile {
    struct Stored: Codable, Hashable {
        /// The name that the app chose for the session.
        var identifier: String
        /// The user; nil until one has signed in.
        var userID: UserID?
        /// The session token; nil after a challenge, when the user must sign in again. Not part of the file.
        var token: String?
        var store = "\(UUID().uuidString.lowercased()).sqlite"

        private enum CodingKeys: CodingKey { case identifier, userID, store }
    }

    private struct Content: Codable {
        var format: Int? = Content.newestFormat
        var current: String?
        var sessions: [Stored] = []
        /// Tombstones: the stores of ended sessions. An entry is removed after its data.
        var ended: [String]?

        static let newestFormat = 1
    }

    let folder: URL
    private let url: URL
    private let tokens: any TokenStore
    private var content: Content

    /// Reads the file. A missing file counts as empty.
    /// - Throws: ``StrataError/Code/newerStore``; ``StrataError/Code/devicePersistenceFailure`` if the file or a token
    ///   cannot be read, for example because the device is locked. Nothing is changed in that case.
    init(folder: URL, tokens: (any TokenStore)? = nil) throws {
        self.folder = folder
        self.tokens = tokens ?? Self.systemTokens(in: folder)
        url = folder.appending(path: "sessions.json")
        content = try Self.read(url)
        for index in content.sessions.indices {
            content.sessions[index].token = try self.tokens.token(of: content.sessions[index].store)
        }
    }

    /// Reads the file. Returns an empty content if it does not exist.
    private static func read(_ url: URL) throws -> Content {
        struct Version: Decodable { var format: Int? }
        do {
            guard let data = try PrivateFile.read(url) else { return Content() }
            guard try JSONDecoder().decode(Version.self, from: data).format ?? 1 <= Content.newestFormat else {
                throw StrataError(.newerStore, "The file sessions.json was written by a newer version of StrataKit.")
            }
            return try JSONDecoder().decode(Content.self, from: data)
        } catch let error as StrataError {
            throw error
        } catch {
            throw StrataError.file("sessions.json cannot be read", underlying: error)
        }
    }

    /// The sessions, in creation order.
    var all: [Stored] { content.sessions }
    var current: Stored? { content.current.flatMap { session($0) } }
    func session(_ identifier: String) -> Stored? { content.sessions.first { $0.identifier == identifier } }
    func session(of user: UserID) -> Stored? { content.sessions.first { $0.userID == user } }

    /// Adds a session without a user.
    /// - Throws: ``StrataError/Code/duplicateSession``; ``StrataError/Code/invalidArgument`` for an empty identifier;
    ///   file system errors.
    mutating func addSession(_ identifier: String) throws -> Stored {
        guard !identifier.isEmpty else { throw StrataError(.invalidArgument, "identifier: must not be empty.") }
        guard session(identifier) == nil else {
            throw StrataError(.duplicateSession, "A session \(identifier) exists already.")
        }
        let session = Stored(identifier: identifier)
        try saveSession(session)
        return session
    }

    /// Returns the session for a user who has signed in, without saving it. In this order of preference: the current
    /// session, the user's own session, a new session.
    /// - Throws: ``StrataError/Code/alreadyAuthenticated`` if another user is signed in to the current session;
    ///   ``StrataError/Code/duplicateSession`` if the user has a session that is not the current one.
    func signedIn(_ user: UserID, token: String) throws -> Stored {
        if let other = current?.userID, other != user {
            throw StrataError(.alreadyAuthenticated, "\(other) is signed in.", userID: other)
        }
        let own = session(of: user)
        if let own, let current, own.identifier != current.identifier {
            throw StrataError(.duplicateSession, "\(user) has the session \(own.identifier) already.", userID: user)
        }
        let isFree = session(user.rawValue) == nil
        var session =
            current ?? own
            ?? Stored(identifier: isFree ? user.rawValue : "\(user.rawValue) \(UUID().uuidString.lowercased())")
        (session.userID, session.token) = (user, token)
        return session
    }

    /// Adds a session, or replaces the session with the same identifier.
    mutating func saveSession(_ session: Stored, isCurrent: Bool = false) throws {
        let before = content
        // The session is written before its token. A session without a token is only challenged; a token without a
        // session would never be removed.
        try change { content in
            if let place = content.sessions.firstIndex(where: { $0.identifier == session.identifier }) {
                content.sessions[place] = session
            } else {
                content.sessions.append(session)
            }
            if isCurrent { content.current = session.identifier }
        }
        do {
            try tokens.setToken(session.token, of: session.store)
        } catch {
            try? change { $0 = before }
            throw error
        }
    }

    /// Removes a session token that the server no longer accepts, and keeps the store. Does nothing if the user has a
    /// newer token.
    mutating func challenge(_ user: UserID, token: String) throws {
        guard var session = session(of: user), session.token == token else { return }
        session.token = nil
        try saveSession(session)
    }

    mutating func select(_ identifier: String) throws { try change { $0.current = identifier } }

    /// Ends a session. The caller must remove its data with ``removeData(of:)``.
    mutating func removeSession(_ identifier: String) throws {
        try change { content in
            content.ended = (content.ended ?? []) + content.sessions.filter { $0.identifier == identifier }.map(\.store)
            content.sessions.removeAll { $0.identifier == identifier }
            if content.current == identifier { content.current = nil }
        }
    }

    // MARK: Data of ended sessions

    /// Removes the store, the content and the token of an ended session. Can be repeated after a partial removal.
    mutating func removeData(of store: String) throws {
        guard content.ended?.contains(store) == true else { return }
        try tokens.setToken(nil, of: store)
        try StoreFile.remove(folder.appending(path: store))
        try PrivateFile.remove(folder.appending(path: store + "-content"))
        try change { content in
            content.ended?.removeAll { $0 == store }
            if content.ended?.isEmpty == true { content.ended = nil }
        }
    }

    /// Completes removals that earlier processes began: removes the data of ended sessions, and stores that belong to
    /// no session. If a removal fails, the next start retries it.
    mutating func removeLeftovers() {
        for store in content.ended ?? [] { try? removeData(of: store) }
        let known = Set(content.sessions.map(\.store) + (content.ended ?? []))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? [] {
            guard let store = Self.store(ofFile: name), !known.contains(store) else { continue }
            try? PrivateFile.remove(folder.appending(path: name))
        }
    }

    /// Returns the name of the store to which a file or folder belongs; nil if StrataKit did not create the file.
    private static func store(ofFile name: String) -> String? {
        guard let end = name.range(of: ".sqlite"), UUID(text: name[..<end.lowerBound].utf8) != nil else { return nil }
        return String(name[..<end.upperBound])
    }

    /// Applies a change and writes the file. If the file cannot be written, nothing has changed.
    private mutating func change(_ body: (inout Content) -> Void) throws {
        var changed = content
        body(&changed)
        changed.format = Content.newestFormat
        try PrivateFile.write(try JSONEncoder().encode(changed), to: url)
        content = changed
    }
}

/// Helpers for small files that only their owner can read.
enum PrivateFile {
    /// Reads a file.
    /// - Returns: nil if the file does not exist.
    /// - Throws: an error if the file exists but cannot be read at the moment.
    static func read(_ url: URL) throws -> Data? {
        do {
            return try Data(contentsOf: url)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        }
    }

    /// Replaces the file atomically. The file has mode 0600 from its creation, and is synchronized to the disk when the
    /// call returns.
    static func write(_ data: Data, to url: URL) throws {
        let draft = url.appendingPathExtension("new").path(percentEncoded: false)
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw lastSystemError() }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: data)
        try handle.synchronize()
        try handle.close()
        guard rename(draft, url.path(percentEncoded: false)) == 0 else { throw lastSystemError() }
    }

    /// Removes a file or folder. Does nothing if it does not exist.
    static func remove(_ url: URL) throws {
        do {
            try FileManager.default.removeItem(at: url)
        } catch let error as CocoaError where error.code == .fileNoSuchFile || error.code == .fileReadNoSuchFile {
            return
        }
    }

    private static func lastSystemError() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
