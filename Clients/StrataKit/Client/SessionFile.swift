// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// The sessions of one app on this device, in a file beside their stores. A change that cannot be written changes nothing.
struct SessionFile {
    struct Stored: Codable, Hashable {
        /// The app's name for the session.
        var identifier: String
        /// Nil until a user has signed in.
        var userID: UserID?
        /// Nil after a challenge: the user must sign in again.
        var token: String?
        /// The name of the store's file.
        var store = "\(UUID().uuidString.lowercased()).sqlite"
    }

    private struct Content: Codable {
        /// The identifier of the current session.
        var current: String?
        var sessions: [Stored] = []
    }

    private let url: URL
    private var content: Content

    /// Reads the file. A missing or unreadable file has no sessions: users then sign in again.
    init(folder: URL) throws {
        url = folder.appending(path: "sessions.json")
        content = Content()
        guard FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) else { return }
        content = (try? JSONDecoder().decode(Content.self, from: Data(contentsOf: url))) ?? Content()
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
        try change { content in
            if let place = content.sessions.firstIndex(where: { $0.identifier == session.identifier }) {
                content.sessions[place] = session
            } else {
                content.sessions.append(session)
            }
            if isCurrent { content.current = session.identifier }
        }
    }

    /// The server no longer accepts a token. The store stays. Does nothing if the user has another token by now.
    mutating func challenge(_ user: UserID, token: String) throws {
        guard var session = session(of: user), session.token == token else { return }
        session.token = nil
        try saveSession(session)
    }

    mutating func select(_ identifier: String) throws { try change { $0.current = identifier } }

    mutating func removeSession(_ identifier: String) throws {
        try change { content in
            content.sessions.removeAll { $0.identifier == identifier }
            if content.current == identifier { content.current = nil }
        }
    }

    private mutating func change(_ body: (inout Content) -> Void) throws {
        var changed = content
        body(&changed)
        try JSONEncoder().encode(changed).write(to: url, options: .atomic)
        content = changed
    }
}
