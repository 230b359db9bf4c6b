// SPDX-License-Identifier: Apache-2.0
import ProtocolClient

/// The connection of one engine: its session token, its socket, and the state machine that decides when to connect.
///
/// A value without I/O: the engine reports events, and carries out the actions.
struct EngineConnection {
    private var machine = ConnectionMachine()
    /// The session token; nil: the user must sign in again.
    private(set) var token: String?
    /// The token with which the socket was opened. It differs from the current token if the user has signed in again
    /// since.
    private(set) var socketToken: String?
    private(set) var socket: (number: Int, socket: ProtocolSocket)?
    /// Receives the result of the first attempt to connect, for the waiting call.
    private var firstAttempt: AsyncStream<FirstAttempt>.Continuation?
    /// The presence status that the user has chosen. It is sent after each connection.
    private(set) var presence = PresenceChoice.auto

    init(token: String?) { self.token = token }

    var state: ConnectionMachine.State { machine.state }
    /// The time at which the engine must handle ``ConnectionMachine/Event/timerDue``; nil: no timer is needed.
    var deadline: ConnectionMachine.Instant? { machine.deadline }
    /// True if a socket is open or opening.
    var isTrying: Bool { machine.socket != nil }
    /// True if the user has signed in again since the socket was opened.
    var isRenewed: Bool { token != nil && token != socketToken }

    mutating func handle(
        _ event: ConnectionMachine.Event, at now: ConnectionMachine.Instant, random: Double
    ) -> [ConnectionMachine.Action] {
        machine.handle(event, at: now, random: random)
    }

    mutating func choose(_ presence: PresenceChoice) { self.presence = presence }

    // MARK: The session

    mutating func signedIn(_ token: String) { self.token = token }

    /// Removes a token that the server no longer accepts.
    /// - Returns: false if the token was not the current one, because the user has signed in again.
    mutating func sessionEnded(_ ended: String?) -> Bool {
        guard token != nil, token == ended else { return false }
        token = nil
        return true
    }

    // MARK: The socket

    /// Prepares to open a socket.
    /// - Returns: the token to open it with.
    mutating func willOpen() -> String? {
        socketToken = token
        return token
    }

    /// Stores an open socket.
    /// - Returns: false if the socket was abandoned before it opened.
    mutating func opened(_ socket: ProtocolSocket, number: Int) -> Bool {
        guard machine.socket == number else { return false }
        self.socket = (number, socket)
        return true
    }

    /// Removes and returns the socket. Its later events are ignored.
    mutating func takeSocket() -> ProtocolSocket? { socket.take()?.socket }

    // MARK: The first attempt

    mutating func expectAttempt() -> AsyncStream<FirstAttempt> {
        let (stream, continuation) = AsyncStream.makeStream(of: FirstAttempt.self)
        firstAttempt = continuation
        return stream
    }

    /// Reports the result of the first attempt.
    /// - Returns: true if a call was waiting for it.
    mutating func attemptEnded(_ how: FirstAttempt) -> Bool {
        guard let waiting = firstAttempt.take() else { return false }
        waiting.yield(how)
        waiting.finish()
        return true
    }
}
