// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// A snapshot of a session. Several users can share a client; each of them has a session with its own store.
public struct StrataSession: Sendable, Hashable, Identifiable {
    /// The authentication state of a session.
    public enum State: Sendable, Hashable {
        /// No user has signed in.
        case unauthenticated
        /// A user is signed in.
        case authenticated
        /// The user must sign in again. The store can still be read and changed; nothing is sent or received.
        case challenged
    }

    /// The session's identifier. ``StrataClient/newSession(identifier:)`` takes it from the app.
    /// ``StrataClient/authenticate(identityToken:)`` uses the user id, unless another session has it.
    public let id: String
    /// The user; nil until a user has signed in.
    public let userID: UserID?
    /// The authentication state.
    public let state: State

    init(_ session: SessionFile.Stored) {
        id = session.identifier
        userID = session.userID
        state = session.userID == nil ? .unauthenticated : session.token == nil ? .challenged : .authenticated
    }
}

/// Support for several users who share one client. Each user has a session with its own store. One session is the
/// current one: all other calls apply to it, and only it is connected.
extension StrataClient {
    /// All sessions on this device, in creation order.
    public var sessions: [StrataSession] { sessionFile.all.map { StrataSession($0) } }

    /// The session that the client's calls apply to; nil if there is none.
    public var currentSession: StrataSession? { sessionFile.current.map { StrataSession($0) } }

    /// Returns the session of a user; nil if the user has none.
    public func session(forUserID user: UserID) -> StrataSession? {
        sessionFile.session(of: user).map { StrataSession($0) }
    }

    /// Creates a session without a user. It does not become the current session.
    /// - Parameter identifier: a name that the app chooses.
    /// - Throws: ``StrataError/Code/duplicateSession`` if the identifier is taken; ``StrataError/Code/invalidArgument``
    ///   if it is empty; ``StrataError/Code/devicePersistenceFailure``.
    public func newSession(identifier: String) throws -> StrataSession {
        try checkOpen()
        return StrataSession(try persisting { try sessionFile.addSession(identifier) })
    }

    /// Makes a session the current one. No user is signed out.
    ///
    /// The client's streams continue with the events of the new session. Query controllers and pending calls of the
    /// previous session end; calls on its conversations and messages throw. If the client is connected, it connects for
    /// the new session. The call does nothing if the session is already the current one.
    /// - Throws: ``StrataError/Code/invalidSession`` if the session does not exist;
    ///   ``StrataError/Code/devicePersistenceFailure``.
    public func switchSession(to session: StrataSession) async throws {
        let stored = try stored(session)
        guard sessionFile.current?.identifier != stored.identifier else { return }
        let new = try streams.makeEngine(of: stored)
        try persisting { try sessionFile.select(stored.identifier) }
        // Cancel a sign-in in progress; it belongs to the previous session.
        attempt += 1
        let old = releaseEngine()
        engine = new
        await stopEngine(old)
        startEngine()
    }

    /// Removes a session, its store and its unsent changes. For the current session this is equivalent to
    /// ``deauthenticate()``.
    /// - Throws: ``StrataError/Code/invalidSession`` if the session does not exist;
    ///   ``StrataError/Code/devicePersistenceFailure``.
    public func destroySession(_ session: StrataSession) async throws {
        let stored = try stored(session)
        if sessionFile.current?.identifier == stored.identifier { attempt += 1 }
        try await endSession(stored)
    }

    private func stored(_ session: StrataSession) throws -> SessionFile.Stored {
        try checkOpen()
        guard let stored = sessionFile.session(session.id) else {
            throw StrataError(.invalidSession, "The session \(session.id) does not exist.")
        }
        return stored
    }
}
