// SPDX-License-Identifier: Apache-2.0
import ProtocolClient

/// The connection of one engine: the session that it uses, the socket, and the machine that decides when to open one.
///
/// A value that opens and closes nothing: the engine says what has happened, and carries out the actions.
struct EngineConnection {
    private var machine = ConnectionMachine()
    /// The token of the session; nil: the user must sign in again.
    private(set) var token: String?
    /// The token with which the socket was opened. It differs from the current token if the user has signed in again since.
    private(set) var socketToken: String?
    private(set) var socket: (number: Int, socket: ProtocolSocket)?
    /// Reports the result of the first attempt to connect to the waiting call.
    private var firstAttempt: AsyncStream<FirstAttempt>.Continuation?
    /// The presence that the user has chosen. Each connection tells it to the server.
    private(set) var presence = PresenceChoice.auto

    init(token: String?) { self.token = token }

    var state: ConnectionMachine.State { machine.state }
    /// When the engine must handle ``ConnectionMachine/Event/timerDue``; nil: no timer is needed.
    var deadline: ConnectionMachine.Instant? { machine.deadline }
    /// Whether a socket is open or being opened.
    var isTrying: Bool { machine.socket != nil }
    /// Whether the user has signed in again since the socket was opened.
    var isRenewed: Bool { token != nil && token != socketToken }

    mutating func handle(_ event: ConnectionMachine.Event, at now: ConnectionMachine.Instant, random: Double) -> [ConnectionMachine.Action] {
        machine.handle(event, at: now, random: random)
    }

    mutating func choose(_ presence: PresenceChoice) { self.presence = presence }

    // MARK: The session

    mutating func signedIn(_ token: String) { self.token = token }

    /// The server no longer accepts a token.
    /// - Returns: whether it was the current one. It is not if the user has signed in again since.
    mutating func sessionEnded(_ ended: String?) -> Bool {
        guard token != nil, token == ended else { return false }
        token = nil
        return true
    }

    // MARK: The socket

    /// A socket is to be opened.
    /// - Returns: the token to open it with.
    mutating func willOpen() -> String? {
        socketToken = token
        return token
    }

    /// A socket is open.
    /// - Returns: false if it was abandoned before it opened.
    mutating func opened(_ socket: ProtocolSocket, number: Int) -> Bool {
        guard machine.socket == number else { return false }
        self.socket = (number, socket)
        return true
    }

    /// Forgets the socket, whose later events count no more.
    mutating func takeSocket() -> ProtocolSocket? { socket.take()?.socket }

    // MARK: The first attempt

    /// A call waits for the result of the first attempt to connect.
    mutating func expectAttempt() -> AsyncStream<FirstAttempt> {
        let (stream, continuation) = AsyncStream.makeStream(of: FirstAttempt.self)
        firstAttempt = continuation
        return stream
    }

    /// - Returns: whether a call waits for that.
    mutating func attemptEnded(_ how: FirstAttempt) -> Bool {
        guard let waiting = firstAttempt.take() else { return false }
        waiting.yield(how)
        waiting.finish()
        return true
    }
}
