// SPDX-License-Identifier: Apache-2.0
import NetKit

/// A state machine that keeps one socket open. It decides when to connect, when to send a heartbeat, and when to
/// reconnect.
///
/// The owner carries out the actions that each event returns, in order. It sends ``Event/timerDue`` at ``deadline``.
/// Events name the socket that they concern, so that events of an abandoned socket have no effect.
struct ConnectionMachine: Sendable {
    typealias Instant = ContinuousClock.Instant
    /// The number of a socket. Each attempt to open a socket has a new number.
    typealias SocketNumber = Int

    enum Event: Sendable {
        /// The app requested a connection, or the user signed in again.
        case start
        case stop
        /// The network changed. A pending reconnect is attempted immediately; an open socket is probed.
        case networkChanged
        case opened(SocketNumber)
        /// A socket could not be opened, or an open socket was closed.
        case failed(SocketNumber, ConnectionFailure)
        /// A packet was received, for example the answer to a heartbeat.
        case received(SocketNumber)
        case timerDue
    }

    enum Action: Hashable, Sendable {
        case open(SocketNumber)
        /// Close the socket, whether it is open or opening, and ignore its later events.
        case close(SocketNumber)
        /// Send `Counter.read` on the socket.
        case sendHeartbeat(SocketNumber)
        case publish(ConnectionEvent)
        /// Ask the app to sign the user in, and send ``Event/start`` afterwards. If the nonce is nil, request one from
        /// the server.
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
        var lastReceivedAt: Instant
        /// The time at which an unanswered heartbeat was sent.
        var heartbeatSentAt: Instant?
    }

    struct Timeouts: Hashable, Sendable {
        /// The maximum time for a socket to open.
        var opening = Duration.seconds(20)
        /// The time without a packet after which a heartbeat is sent.
        var silence = Duration.seconds(30)
        /// The time after a heartbeat within which a packet must arrive.
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

    /// The time at which the owner must send ``Event/timerDue``; nil: no timer is needed.
    var deadline: Instant? {
        switch state {
        case .stopped: nil
        case .waiting(let until, _): until
        case .opening(_, let since, _): since + timeouts.opening
        case .open(let connection):
            connection.heartbeatSentAt.map { $0 + timeouts.answer } ?? connection.lastReceivedAt + timeouts.silence
        }
    }

    /// The socket that is open or opening.
    var socket: SocketNumber? {
        switch state {
        case .stopped, .waiting: nil
        case .opening(let socket, _, _): socket
        case .open(let connection): connection.socket
        }
    }

    /// Handles an event.
    /// - Parameters:
    ///   - random: a random number in 0..<1, drawn anew for each event.
    /// - Returns: the actions to carry out, in order.
    mutating func handle(_ event: Event, at now: Instant, random: Double) -> [Action] {
        switch event {
        case .start: start(at: now)
        case .stop: stop()
        case .networkChanged: networkChanged(at: now)
        case .opened(let socket): socketOpened(socket, at: now)
        case .failed(let socket, let failure):
            socket == self.socket ? connectionFailed(failure, at: now, random: random) : []
        case .received(let socket): received(socket, at: now)
        case .timerDue: timerDue(at: now, random: random)
        }
    }

    private mutating func start(at now: Instant) -> [Action] {
        guard case .stopped = state else { return [] }
        return [.publish(.willAttempt(number: 1, delay: .zero, maximum: policy.attempts))]
            + openSocket(attempt: 1, at: now)
    }

    private mutating func stop() -> [Action] {
        guard state != .stopped else { return [] }
        let closing = socket.map { Action.close($0) }
        state = .stopped
        return [closing, .publish(.disconnected(nil))].compactMap { $0 }
    }

    /// Connects without further delay, or tests an open connection with a heartbeat.
    private mutating func networkChanged(at now: Instant) -> [Action] {
        switch state {
        case .stopped, .opening: return []
        case .waiting(_, let attempt): return openSocket(attempt: attempt, at: now)
        case .open(let connection):
            return connection.heartbeatSentAt == nil ? sendHeartbeat(on: connection, at: now) : []
        }
    }

    private mutating func socketOpened(_ socket: SocketNumber, at now: Instant) -> [Action] {
        // Ignore a socket that was abandoned before it opened. It is already closed.
        guard case .opening(socket, _, let attempt) = state else { return [] }
        state = .open(Connection(socket: socket, since: now, attempt: attempt, lastReceivedAt: now))
        return [.publish(.connected)]
    }

    private mutating func received(_ socket: SocketNumber, at now: Instant) -> [Action] {
        guard case .open(var connection) = state, connection.socket == socket else { return [] }
        connection.lastReceivedAt = now
        connection.heartbeatSentAt = nil
        state = .open(connection)
        return []
    }

    private mutating func timerDue(at now: Instant, random: Double) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        case .stopped: return []
        case .waiting(_, let attempt): return openSocket(attempt: attempt, at: now)
        case .opening(let socket, _, _):
            return [.close(socket)]
                + connectionFailed(.silence("the connection could not be opened in time"), at: now, random: random)
        case .open(let connection):
            guard connection.heartbeatSentAt != nil else { return sendHeartbeat(on: connection, at: now) }
            return [.close(connection.socket)]
                + connectionFailed(.silence("the server has not answered for too long"), at: now, random: random)
        }
    }

    private mutating func sendHeartbeat(on connection: Connection, at now: Instant) -> [Action] {
        var connection = connection
        connection.heartbeatSentAt = now
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
            if now < connection.since + policy.stableDuration { attempt = connection.attempt + 1 }
        }
        switch failure.remedy {
        case .reconnect(let reason):
            return actions + waitToReconnect(attempt: attempt, after: reason, failure: failure, at: now, random: random)
        case .signIn(let nonce):
            state = .stopped
            return actions + [.askForSignIn(nonce: nonce)]
        case .none:
            state = .stopped
            return actions + [.publish(.disconnected(failure.error))]
        }
    }

    /// Schedules an attempt, or begins it now if there is no delay. Stops if all attempts have been made.
    private mutating func waitToReconnect(
        attempt: Int, after reason: ConnectionFailure.ReconnectDelay, failure: ConnectionFailure, at now: Instant,
        random: Double
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

/// The delays between attempts to open a socket.
///
/// The first attempt is immediate. Each later one waits for a random fraction of a bound that doubles up to
/// ``longest``. The jitter prevents all clients from reconnecting at the same moment after an outage.
struct ReconnectPolicy: Hashable, Sendable {
    /// The upper bound of the delay before the second attempt.
    var first = Duration.seconds(1)
    /// The upper bound of the delay before any attempt, unless the server requests a longer one.
    var longest = Duration.seconds(30)
    /// The minimum delay if the server requested a pause without a duration.
    var pause = Duration.seconds(2)
    /// The maximum delay that the server can request. It limits the damage of a wrong answer.
    var maximumRequestedDelay = Duration.seconds(300)
    /// The duration after which a connection counts as stable and resets the attempt counter.
    var stableDuration = Duration.seconds(60)
    /// The number of attempts after which the client gives up; nil: unlimited.
    var attempts: Int?

    /// Returns the delay before an attempt.
    /// - Parameters:
    ///   - attempt: counted from 1.
    ///   - random: a random number in 0..<1.
    func delay(before attempt: Int, after reason: ConnectionFailure.ReconnectDelay, random: Double) -> Duration {
        let random = min(max(random, 0), 1)
        switch reason {
        case .now: return bound(before: attempt) * random
        case .later(nil): return min(pause + bound(before: max(attempt, 3)) * random, longest)
        case .later(let requested?):
            return min(max(requested, pause), maximumRequestedDelay) + bound(before: max(attempt, 3)) * random
        }
    }

    /// Returns the upper bound of the random delay before an attempt.
    private func bound(before attempt: Int) -> Duration {
        attempt > 1 ? Backoff(initial: first, maximum: longest).bound(attempt: attempt - 2) : .zero
    }
}
