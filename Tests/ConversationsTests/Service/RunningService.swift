// SPDX-License-Identifier: Apache-2.0
import Contracts
import CryptoExtras
import Foundation
import NIOCore
import NIOPosix
import Postgres
import RPC
import Redis
import ServiceKit
import ServiceLifecycle
import StrataModel
import SwiftProtobuf
import Synchronization
import TestSupport

@testable import Conversations

/// The complete service in this process, on its own port, with a client that calls it as a gateway does.
struct RunningService {
    static let secret = "a cluster secret that is long enough"

    let url: String
    let client: RPCClient
    let service: ConversationsService

    @discardableResult
    static func run<Result: Sendable>(
        postgres: String, redis: String, adjust: (inout ConversationsSettings) -> Void = { _ in },
        _ body: (RunningService) async throws -> Result
    ) async throws -> Result {
        var rpc = RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: secret)
        rpc.drainTimeout = .seconds(5)
        var settings = ConversationsSettings(postgresURL: postgres, redisURL: redis, rpc: rpc)
        settings.connections = 2
        settings.exclusiveConnections = 2
        adjust(&settings)
        let loops = MultiThreadedEventLoopGroup.singleton
        let logger = ServiceFixture.quietLogger
        let service = try ConversationsService(
            settings: settings, environment: ServiceEnvironment(eventLoopGroup: loops, logger: logger))
        let group = ServiceGroup(services: service.services, logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = try await service.rpcPort
            let client = RPCClient(
                configuration: RPCClientConfiguration(
                    target: .fixed([RPCEndpoint(host: "127.0.0.1", port: port)]), clusterSecret: secret),
                eventLoopGroup: loops, logger: logger)
            let clients = ServiceGroup(services: [client], logger: logger)
            tasks.addTask { try await clients.run() }
            let result = try await body(RunningService(url: postgres, client: client, service: service))
            await clients.triggerGracefulShutdown()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return result
        }
    }

    @discardableResult
    func call<Request, Response>(_ endpoint: Endpoint<Request, Response>, _ request: Request) async throws -> Response {
        try await client.call(endpoint, with: request, for: .until(.soon))
    }

    @discardableResult
    func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ fill: (inout Request) throws -> Void
    ) async throws -> Response {
        try await call(endpoint, Request.with(fill))
    }

    /// Returns the failure with which a call is refused; nil if it succeeds.
    func failure<Request, Response>(of endpoint: Endpoint<Request, Response>, _ request: Request) async -> Failure? {
        do {
            try await call(endpoint, request)
            return nil
        } catch {
            return error as? Failure
        }
    }

    func createApp(_ app: AppID, provider: UUID, keyID: UUID) async throws {
        try await Migrator(configuration: PostgresConfiguration(url: url))
            .execute(
                script: """
                    INSERT INTO conversations.app (id, name, provider_id) VALUES ('\(app)', 'test', '\(provider)');
                    INSERT INTO conversations.app_key (id, app_id, public_key)
                    VALUES ('\(keyID)', '\(app)', '\(TokenMaker.key.publicKey.pemRepresentation)');
                    """)
    }

    func token(_ user: String, provider: UUID, keyID: UUID) throws -> String {
        let nonce = Nonce.issue(with: Nonce.Key(clusterSecret: Self.secret)).text
        return try TokenMaker(user: user, provider: provider, keyID: keyID, nonce: nonce).text()
    }
}

final class Listener: RedisSubscriberDelegate {
    private let (stream, continuation) = AsyncStream.makeStream(of: (channel: String, payload: ByteBuffer).self)

    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        continuation.yield((String(buffer: channel), message))
    }
    func subscriber(didConfirm channel: String) {}
    func subscriberDidLoseConnection() {}
    func subscriberDidRecover() {}

    /// Runs `body` with a confirmed subscription to `channels`.
    @discardableResult
    static func run<Result: Sendable>(
        _ redis: String, _ channels: [String], _ body: (Listener) async throws -> Result
    ) async throws -> Result {
        let listener = Listener()
        let subscriber = RedisSubscriber(
            configuration: try RedisConfiguration(url: redis), eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            delegate: listener,
            logger: ServiceFixture.quietLogger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await subscriber.run() }
            defer { tasks.cancelAll() }
            subscriber.subscribe(channels)
            try await subscriber.confirmation(of: channels, deadline: .soon)
            return try await body(listener)
        }
    }

    func next() async -> (channel: String, payload: ByteBuffer)? { await stream.first { _ in true } }
}
