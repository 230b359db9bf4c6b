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
