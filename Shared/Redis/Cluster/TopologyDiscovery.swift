// SPDX-License-Identifier: Apache-2.0

import NIOCore

enum Topology: Sendable, Equatable {
    case standalone
    case cluster(SlotMap)
}

/// A query of CLUSTER SLOTS that asks the servers in turn until one answers. Each query has its own connection, because
/// a subscribed connection cannot send it, and an existing connection may be the faulty one.
final class TopologyDiscovery {
    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private var candidates: ArraySlice<RedisEndpoint>
    private let completion: (Result<Topology, RedisError>) -> Void

    private init(
        candidates: [RedisEndpoint], configuration: RedisConfiguration, eventLoop: any EventLoop,
        completion: @escaping (Result<Topology, RedisError>) -> Void
    ) {
        self.candidates = candidates[...]
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.completion = completion
    }

    /// Runs a query and calls `completion` once. Must be called on the event loop, on which `completion` is called,
    /// too.
    static func run(
        asking candidates: [RedisEndpoint], configuration: RedisConfiguration, eventLoop: any EventLoop,
        completion: @escaping (Result<Topology, RedisError>) -> Void
    ) {
        TopologyDiscovery(
            candidates: candidates, configuration: configuration, eventLoop: eventLoop, completion: completion
        )
        .askNext(after: RedisError(.connectionUnavailable, "no server is configured"))
    }

    private func askNext(after error: RedisError) {
        guard let endpoint = candidates.popFirst() else {
            completion(.failure(error))
            return
        }
        let query = TopologyQuery(asked: endpoint, isCluster: configuration.isCluster)
        RedisConnection.open(
            to: endpoint, configuration: configuration, eventLoop: eventLoop, role: query,
            onReady: { connection in query.send(on: connection) },
            onEnd: { error, _ in
                switch query.answer {
                case .success(let topology): self.completion(.success(topology))
                case .failure(let failure): self.askNext(after: failure)
                case nil: self.askNext(after: error)
                }
            })
    }
}

/// A connection role that sends one query and then closes the connection.
private final class TopologyQuery: ConnectionRole {
    private let asked: RedisEndpoint
    private let isCluster: Bool?
    private weak var connection: RedisConnection<TopologyQuery>?
    private(set) var answer: Result<Topology, RedisError>?

    init(asked: RedisEndpoint, isCluster: Bool?) {
        self.asked = asked
        self.isCluster = isCluster
    }

    var isAwaitingReply: Bool { answer == nil }

    func send(on connection: RedisConnection<TopologyQuery>) {
        self.connection = connection
        var buffer = ByteBuffer()
        CommandEncoder.encode(["CLUSTER", "SLOTS"], into: &buffer)
        connection.write(buffer)
    }

    func replyReceived(_ reply: inout ReplyBuilder) throws(RedisError) {
        let value = reply.takeValue()
        guard answer == nil else { return }
        answer = interpret(value)
    }

    func receivedAll() {
        guard answer != nil, let connection else { return }
        self.connection = nil
        connection.close()
    }

    func encodePing(into buffer: inout ByteBuffer) {}

    private func interpret(_ reply: RedisValue) -> Result<Topology, RedisError> {
        if case .error(let error) = reply {
            // The error means "This instance has cluster support disabled", or that the user lacks the permission.
            return isCluster == true
                ? .failure(RedisError(.connectionUnavailable, "not a cluster", serverError: error))
                : .success(.standalone)
        }
        guard let map = SlotMap(reply, asked: asked) else {
            return .failure(RedisError(.protocolViolation, "unexpected answer to CLUSTER SLOTS"))
        }
        guard !map.masters.isEmpty else {
            return .failure(RedisError(.connectionUnavailable, "the cluster has no slots"))
        }
        return .success(.cluster(map))
    }
}
