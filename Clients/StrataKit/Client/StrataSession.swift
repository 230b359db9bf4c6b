// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The session of one of several users who take turns with a client. Each session has a store of its own. This value shows it at one moment.
public struct StrataSession: Sendable, Hashable, Identifiable {
    /// Whether the server accepts the session.
    public enum State: Sendable, Hashable {
        /// No user has signed in.
        case unauthenticated
        /// A user is signed in.
        case authenticated
        /// The user must sign in again. The store stays and can be read and changed; nothing is sent or received.
        case challenged
    }

    /// The identifier that ``StrataClient/newSession(identifier:)`` was given; of a session that ``StrataClient/authenticate(identityToken:)`` made the user id,
    /// unless another session has it.
    public let id: String
    /// The user; nil until one has signed in.
    public let userID: UserID?
    /// Whether the server accepts it.
    public let state: State

    init(_ session: SessionFile.Stored) {
        id = session.identifier
        userID = session.userID
        state = session.userID == nil ? .unauthenticated : session.token == nil ? .challenged : .authenticated
    }
}
