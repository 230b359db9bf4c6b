// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Several users who take turns with one client. Each has a session with a store of their own, and one session is the current one: all other calls are about
/// it, and it alone is connected.
extension StrataClient {
    /// All sessions on this device, in the order in which they were made.
    public var sessions: [StrataSession] { sessionFile.all.map { StrataSession($0) } }

    /// The session that the client works for; nil if there is none.
    public var currentSession: StrataSession? { sessionFile.current.map { StrataSession($0) } }

    /// The session of a user; nil if they have none.
    public func session(forUserID user: UserID) -> StrataSession? { sessionFile.session(of: user).map { StrataSession($0) } }

    /// Makes a session in which no user has signed in. It does not become the current one.
    /// - Parameter identifier: a name that the app chooses.
    /// - Throws: ``StrataError/Code/duplicateSession`` if there is a session with this identifier, ``StrataError/Code/invalidArgument`` for an empty one,
    ///   ``StrataError/Code/devicePersistenceFailure``.
    public func newSession(identifier: String) throws -> StrataSession {
        try checkOpen()
        return StrataSession(try persisting { try sessionFile.addSession(identifier) })
    }

    /// Makes a session the current one. No user is signed out.
    ///
    /// The streams of the client continue, with the events of the other session. What belongs to the previous session ends: its query controllers, calls that
    /// wait, and calls of its conversations and messages, which throw. If the client is connected, it connects for the other session. Nothing happens if
    /// the session is the current one already.
    /// - Throws: ``StrataError/Code/invalidSession`` if there is no such session, ``StrataError/Code/devicePersistenceFailure``.
    public func switchSession(to session: StrataSession) async throws {
        let stored = try stored(session)
        guard sessionFile.current?.identifier != stored.identifier else { return }
        let new = try outlets.makeEngine(of: stored)
        try persisting { try sessionFile.select(stored.identifier) }
        // A user who is signing in does so in the session before.
        attempt += 1
        let old = releaseEngine()
        engine = new
        await stopEngine(old)
        startEngine()
    }

    /// Removes a session, with its store and what was not sent. The current one is signed out by this, as by ``deauthenticate()``.
    /// - Throws: ``StrataError/Code/invalidSession`` if there is no such session, ``StrataError/Code/devicePersistenceFailure``.
    public func destroySession(_ session: StrataSession) async throws {
        let stored = try stored(session)
        if sessionFile.current?.identifier == stored.identifier { attempt += 1 }
        try await endSession(stored)
    }

    private func stored(_ session: StrataSession) throws -> SessionFile.Stored {
        try checkOpen()
        guard let stored = sessionFile.session(session.id) else { throw StrataError(.invalidSession, "There is no session \(session.id).") }
        return stored
    }
}
