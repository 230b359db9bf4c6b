// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What the configured servers are.
enum Topology: Sendable, Equatable {
    case standalone
    case cluster(SlotMap)
}

/// Asks servers, one after the other, for CLUSTER SLOTS, until one knows. Each is asked over a connection of its own, since a subscribed
/// connection cannot ask, and the busy ones may be those that are broken.
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

    /// Calls `completion` once, on the event loop, on which it must be called.
    static func run(
        asking candidates: [RedisEndpoint], configuration: RedisConfiguration, eventLoop: any EventLoop,
        completion: @escaping (Result<Topology, RedisError>) -> Void
    ) {
        TopologyDiscovery(candidates: candidates, configuration: configuration, eventLoop: eventLoop, completion: completion)
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

/// The role of a connection that asks one question and ends.
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
            // "This instance has cluster support disabled", or a right to ask that our user does not have.
            return isCluster == true ? .failure(RedisError(.connectionUnavailable, "not a cluster", serverError: error)) : .success(.standalone)
        }
        guard let map = SlotMap(reply, asked: asked) else {
            return .failure(RedisError(.protocolViolation, "unexpected answer to CLUSTER SLOTS"))
        }
        guard !map.masters.isEmpty else { return .failure(RedisError(.connectionUnavailable, "the cluster has no slots")) }
        return .success(.cluster(map))
    }
}
