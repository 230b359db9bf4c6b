// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NetKit

/// The delegate of a reconnecting connection. All methods are called on the event loop.
protocol ConnectionKeeperDelegate: ConnectionRole {
    func connectionReady()
    func connectionLost(_ error: RedisError)
    func attemptFailed(_ error: RedisError)
}

/// A keeper of a connection to one server with one or more addresses, from the first demand until it is closed.
final class ConnectionKeeper<Owner: ConnectionKeeperDelegate> {
    private let endpoints: [RedisEndpoint]
    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let logger: Logger
    private var machine: ReconnectStateMachine
    private var attempts = 0
    private var pause: Scheduled<Void>?
    /// The owner, deliberately a strong reference: it lives as long as its connection. `close()` releases it.
    private var owner: Owner?
    private(set) var connection: RedisConnection<Owner>?

    /// The endpoint of the current connection or of the last attempt.
    private(set) var endpoint: RedisEndpoint

    init(endpoints: [RedisEndpoint], configuration: RedisConfiguration, eventLoop: any EventLoop, logger: Logger) {
        self.endpoints = endpoints
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.logger = logger
        endpoint = endpoints.first ?? RedisEndpoint(host: "localhost")
        machine = ReconnectStateMachine(
            backoff: configuration.reconnectBackoff)
    }

    var state: ReconnectStateMachine.State { machine.state }
    var isAway: Bool { machine.isAway }
    var isReady: Bool { connection != nil }

    /// Connects, unless a connection was already demanded.
    func demand(by owner: Owner) {
        guard machine.state != .closed else { return }
        self.owner = owner
        perform(machine.demanded())
    }

    /// Closes the connection without notifying the owner, and does not reconnect.
    func close() {
        machine.close()
        pause?.cancel()
        pause = nil
        owner = nil
        let connection = self.connection
        self.connection = nil
        connection?.close()
    }

    private func perform(_ action: ReconnectStateMachine.Action) {
        switch action {
        case .doNothing, .discardConnection: break
        case .connect: connect()
        case .pause(let duration):
            pause = eventLoop.after(duration) { [weak self] in
                guard let self else { return }
                perform(machine.pauseEnded())
            }
        }
    }

    private func connect() {
        guard let owner, !endpoints.isEmpty else { return }
        endpoint = endpoints[attempts % endpoints.count]
        attempts += 1
        RedisConnection.open(
            to: endpoint, configuration: configuration, eventLoop: eventLoop, role: owner,
            onReady: { self.ready($0) }, onEnd: { self.ended($0, wasReady: $1) })
    }

    private func ready(_ connection: RedisConnection<Owner>) {
        switch machine.connected(now: .now()) {
        case .discardConnection: connection.close()
        case .doNothing, .connect, .pause:
            self.connection = connection
            logger.debug("connected to Redis", metadata: ["redis.endpoint": "\(connection.endpoint)"])
            owner?.connectionReady()
        }
    }

    private func ended(_ error: RedisError, wasReady: Bool) {
        connection = nil
        let jitter = Double.random(in: 0..<1)
        let action = wasReady ? machine.lost(now: .now(), jitter: jitter) : machine.attemptFailed(jitter: jitter)
        guard machine.state != .closed else { return }
        // Unavailability is logged once, by the component that knows the overall state. Logging each attempt would add
        // a line every two seconds.
        logger.debug(
            wasReady ? "connection to Redis lost" : "cannot connect to Redis",
            metadata: ["redis.endpoint": "\(endpoint)", "error.message": "\(error)"])
        perform(action)
        if wasReady { owner?.connectionLost(error) } else { owner?.attemptFailed(error) }
    }
}
