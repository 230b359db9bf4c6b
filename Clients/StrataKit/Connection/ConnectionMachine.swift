// SPDX-License-Identifier: Apache-2.0

/// Keeps one socket open: decides when to open it, when to ask whether the server is still there, and when to come back.
///
/// The owner carries out the actions that each event returns, in order, and gives ``Event/timerDue`` when ``deadline`` has come. Events name the socket that
/// they concern, so that events of an abandoned socket change nothing.
struct ConnectionMachine: Sendable {
    typealias Instant = ContinuousClock.Instant
    /// The number of a socket. Each attempt to open a socket has its own.
    typealias SocketNumber = Int

    enum Event: Sendable {
        /// The app wants to be connected, or the user has signed in again.
        case start
        /// The app does not want to be connected any more.
        case stop
        /// The network has changed: a waiting client tries at once.
        case networkChanged
        case opened(SocketNumber)
        /// A socket could not be opened, or an open one has ended.
        case failed(SocketNumber, ConnectionFailure)
        /// A packet was received, for example the answer to a heartbeat.
        case heard(SocketNumber)
        case timerDue
    }

    /// An action that the owner carries out.
    enum Action: Hashable, Sendable {
        case open(SocketNumber)
        /// Close the socket, open or not, and ignore its later events.
        case close(SocketNumber)
        /// Send `Counter.read` on the socket.
        case sendHeartbeat(SocketNumber)
        case publish(ConnectionEvent)
        /// Ask the app to sign the user in, and send ``Event/start`` afterwards. If the nonce is nil, request one from the server.
        case askForSignIn(nonce: String?)
    }

    enum State: Hashable, Sendable {
        case stopped
        case waiting(until: Instant, attempt: Int)
        case opening(SocketNumber, since: Instant, attempt: Int)
        case open(Connection)
    }

    struct Connection: Hashable, Sendable {
        let socket: SocketNumber
        let since: Instant
        let attempt: Int
        var heardAt: Instant
        /// When a heartbeat was sent that was not answered yet.
        var askedAt: Instant?
    }

    /// Time limits.
    struct Timeouts: Hashable, Sendable {
        /// Time for a socket to open.
        var opening = Duration.seconds(20)
        /// Time without a packet until a heartbeat is sent.
        var silence = Duration.seconds(30)
        /// Time after a heartbeat in which a packet must be received.
        var answer = Duration.seconds(15)
    }

    private(set) var state = State.stopped
    private let policy: ReconnectPolicy
    private let timeouts: Timeouts
    private var lastSocket = 0

    init(policy: ReconnectPolicy = ReconnectPolicy(), timeouts: Timeouts = Timeouts()) {
        self.policy = policy
        self.timeouts = timeouts
    }

    /// When the owner must send ``Event/timerDue``; nil: no timer is needed.
    var deadline: Instant? {
        switch state {
        case .stopped: nil
        case .waiting(let until, _): until
        case .opening(_, let since, _): since + timeouts.opening
        case .open(let connection): connection.askedAt.map { $0 + timeouts.answer } ?? connection.heardAt + timeouts.silence
        }
    }

    /// The socket that is open or being opened.
    var socket: SocketNumber? {
        switch state {
        case .stopped, .waiting: nil
        case .opening(let socket, _, _): socket
        case .open(let connection): connection.socket
        }
    }

    /// - Parameters:
    ///   - random: from 0 up to 1, another number for each event.
    /// - Returns: what is to be done, in this order.
    mutating func handle(_ event: Event, at now: Instant, random: Double) -> [Action] {
        switch event {
        case .start: start(at: now)
        case .stop: stop()
        case .networkChanged: networkChanged(at: now)
        case .opened(let socket): socketOpened(socket, at: now)
        case .failed(let socket, let failure): socket == self.socket ? connectionFailed(failure, at: now, random: random) : []
        case .heard(let socket): heard(socket, at: now)
        case .timerDue: timerDue(at: now, random: random)
        }
    }

    private mutating func start(at now: Instant) -> [Action] {
        guard case .stopped = state else { return [] }
        return [.publish(.willAttempt(number: 1, delay: .zero, maximum: policy.attempts))] + openSocket(attempt: 1, at: now)
    }

    private mutating func stop() -> [Action] {
        guard state != .stopped else { return [] }
        let closing = socket.map { Action.close($0) }
        state = .stopped
        return [closing, .publish(.disconnected(nil))].compactMap { $0 }
    }

    private mutating func networkChanged(at now: Instant) -> [Action] {
        switch state {
        case .stopped, .opening: return []
        case .waiting(_, let attempt): return openSocket(attempt: attempt, at: now)
        case .open(let connection): return connection.askedAt == nil ? sendHeartbeat(on: connection, at: now) : []
        }
    }

    private mutating func socketOpened(_ socket: SocketNumber, at now: Instant) -> [Action] {
        // The socket was abandoned before it opened, and has been closed.
        guard case .opening(socket, _, let attempt) = state else { return [] }
        state = .open(Connection(socket: socket, since: now, attempt: attempt, heardAt: now))
        return [.publish(.connected)]
    }

    private mutating func heard(_ socket: SocketNumber, at now: Instant) -> [Action] {
        guard case .open(var connection) = state, connection.socket == socket else { return [] }
        connection.heardAt = now
        connection.askedAt = nil
        state = .open(connection)
        return []
    }

    private mutating func timerDue(at now: Instant, random: Double) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        case .stopped: return []
        case .waiting(_, let attempt): return openSocket(attempt: attempt, at: now)
        case .opening(let socket, _, _):
            return [.close(socket)] + connectionFailed(.silence("the connection could not be opened in time"), at: now, random: random)
        case .open(let connection):
            guard connection.askedAt != nil else { return sendHeartbeat(on: connection, at: now) }
            return [.close(connection.socket)] + connectionFailed(.silence("the server has not answered for too long"), at: now, random: random)
        }
    }

    private mutating func sendHeartbeat(on connection: Connection, at now: Instant) -> [Action] {
        var connection = connection
        connection.askedAt = now
        state = .open(connection)
        return [.sendHeartbeat(connection.socket)]
    }

    private mutating func openSocket(attempt: Int, at now: Instant) -> [Action] {
        lastSocket += 1
        state = .opening(lastSocket, since: now, attempt: attempt)
        return [.open(lastSocket)]
    }

    private mutating func connectionFailed(_ failure: ConnectionFailure, at now: Instant, random: Double) -> [Action] {
        var actions: [Action] = []
        var attempt = 1
        switch state {
        case .stopped, .waiting: return []
        case .opening(_, _, let failed): attempt = failed + 1
        case .open(let connection):
            actions = [.publish(.lost(failure.error))]
            if now < connection.since + policy.good { attempt = connection.attempt + 1 }
        }
        switch failure.remedy {
        case .reconnect(let reason): return actions + waitToReconnect(attempt: attempt, after: reason, failure: failure, at: now, random: random)
        case .signIn(let nonce):
            state = .stopped
            return actions + [.askForSignIn(nonce: nonce)]
        case .none:
            state = .stopped
            return actions + [.publish(.disconnected(failure.error))]
        }
    }

    private mutating func waitToReconnect(
        attempt: Int, after reason: ConnectionFailure.Return, failure: ConnectionFailure, at now: Instant, random: Double
    ) -> [Action] {
        if let most = policy.attempts, attempt > most {
            state = .stopped
            return [.publish(.disconnected(failure.error))]
        }
        let delay = policy.delay(before: attempt, after: reason, random: random)
        let announcement = Action.publish(.willAttempt(number: attempt, delay: delay, maximum: policy.attempts))
        if delay == .zero { return [announcement] + openSocket(attempt: attempt, at: now) }
        state = .waiting(until: now + delay, attempt: attempt)
        return [announcement]
    }
}
