// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// The sessions of one app on this device, in a file beside their stores. Their tokens are in a ``TokenStore``. A change that cannot be written changes
/// nothing.
struct SessionFile {
    struct Stored: Codable, Hashable {
        /// The app's name for the session.
        var identifier: String
        /// Nil until a user has signed in.
        var userID: UserID?
        /// Nil after a challenge: the user must sign in again. Not in the file.
        var token: String?
        /// The name of the store's file.
        var store = "\(UUID().uuidString.lowercased()).sqlite"

        private enum CodingKeys: CodingKey { case identifier, userID, store }
    }

    private struct Content: Codable {
        /// The version of the file's format.
        var format: Int? = Content.newestFormat
        /// The identifier of the current session.
        var current: String?
        var sessions: [Stored] = []
        /// The stores of sessions that have ended. An entry is a tombstone: it stays until the data are removed.
        var ended: [String]?

        static let newestFormat = 1
    }

    let folder: URL
    private let url: URL
    private let tokens: any TokenStore
    private var content: Content

    /// Reads the file. A missing file has no sessions.
    /// - Throws: ``StrataError/Code/newerStore``; ``StrataError/Code/devicePersistenceFailure`` if something cannot be read, for example because the device
    ///   is locked. Nothing has changed then.
    init(folder: URL, tokens: (any TokenStore)? = nil) throws {
        self.folder = folder
        self.tokens = tokens ?? Self.systemTokens(in: folder)
        url = folder.appending(path: "sessions.json")
        content = try Self.read(url)
        for index in content.sessions.indices { content.sessions[index].token = try self.tokens.token(of: content.sessions[index].store) }
    }

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

    /// The sessions, in the order in which they were created.
    var all: [Stored] { content.sessions }
    var current: Stored? { content.current.flatMap { session($0) } }
    func session(_ identifier: String) -> Stored? { content.sessions.first { $0.identifier == identifier } }
    func session(of user: UserID) -> Stored? { content.sessions.first { $0.userID == user } }

    /// A session in which no user has signed in.
    /// - Throws: ``StrataError/Code/duplicateSession``, ``StrataError/Code/invalidArgument`` for an empty identifier, an error of the file system.
    mutating func addSession(_ identifier: String) throws -> Stored {
        guard !identifier.isEmpty else { throw StrataError(.invalidArgument, "identifier: must not be empty.") }
        guard session(identifier) == nil else { throw StrataError(.duplicateSession, "There is a session \(identifier) already.") }
        let session = Stored(identifier: identifier)
        try saveSession(session)
        return session
    }

    /// The session for a user who has signed in with this token: the current one; if there is none, the user's own, or a new one.
    /// - Throws: ``StrataError/Code/alreadyAuthenticated`` if the current session is another user's, ``StrataError/Code/duplicateSession`` if the user has
    ///   another session than the current one.
    func signedIn(_ user: UserID, token: String) throws -> Stored {
        if let other = current?.userID, other != user { throw StrataError(.alreadyAuthenticated, "\(other) is signed in.", userID: other) }
        let own = session(of: user)
        if let own, let current, own.identifier != current.identifier {
            throw StrataError(.duplicateSession, "\(user) has the session \(own.identifier) already.", userID: user)
        }
        let isFree = session(user.rawValue) == nil
        var session = current ?? own ?? Stored(identifier: isFree ? user.rawValue : "\(user.rawValue) \(UUID().uuidString.lowercased())")
        (session.userID, session.token) = (user, token)
        return session
    }

    /// Adds a session or replaces the one with its identifier.
    mutating func saveSession(_ session: Stored, isCurrent: Bool = false) throws {
        let before = content
        // Without its token a session is challenged. A token without its session would stay forever.
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

    /// The server no longer accepts a token. The store stays. Does nothing if the user has another token by now.
    mutating func challenge(_ user: UserID, token: String) throws {
        guard var session = session(of: user), session.token == token else { return }
        session.token = nil
        try saveSession(session)
    }

    mutating func select(_ identifier: String) throws { try change { $0.current = identifier } }

    /// Ends a session. Its data are still to be removed by ``removeData(of:)``.
    mutating func removeSession(_ identifier: String) throws {
        try change { content in
            content.ended = (content.ended ?? []) + content.sessions.filter { $0.identifier == identifier }.map(\.store)
            content.sessions.removeAll { $0.identifier == identifier }
            if content.current == identifier { content.current = nil }
        }
    }

    // MARK: Data of ended sessions

    /// Removes the store, the content and the token of a session that has ended. It may have been done in part before.
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

    /// Finishes what earlier processes began: removes the data of sessions that have ended, and stores that belong to no session. Data that cannot be removed
    /// now are left to the next start.
    mutating func removeLeftovers() {
        for store in content.ended ?? [] { try? removeData(of: store) }
        let known = Set(content.sessions.map(\.store) + (content.ended ?? []))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? [] {
            guard let store = Self.store(ofFile: name), !known.contains(store) else { continue }
            try? PrivateFile.remove(folder.appending(path: name))
        }
    }

    /// The store to which a file or folder belongs; nil if the library did not make it.
    private static func store(ofFile name: String) -> String? {
        guard let end = name.range(of: ".sqlite"), UUID(text: name[..<end.lowerBound].utf8) != nil else { return nil }
        return String(name[..<end.upperBound])
    }

    private mutating func change(_ body: (inout Content) -> Void) throws {
        var changed = content
        body(&changed)
        changed.format = Content.newestFormat
        try PrivateFile.write(try JSONEncoder().encode(changed), to: url)
        content = changed
    }
}
