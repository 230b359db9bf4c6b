// SPDX-License-Identifier: Apache-2.0

import Contracts
import Foundation
import LocalServers
import Logging
import NIOCore
import NIOPosix
import Postgres
import RPC
import Redis
import ServiceKit
import StrataModel
import Synchronization
import TestSupport
import Testing

@testable import Metadata

/// Collects the changes published on a channel.
final class PublicationLog: RedisSubscriberDelegate {
    let changes: AsyncStream<Change>
    private let post: AsyncStream<Change>.Continuation

    init() { (changes, post) = AsyncStream.makeStream() }

    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        if case .change(let change) = try? ConversationPublication(decoding: message) { post.yield(change) }
    }
    func subscriber(didConfirm channel: String) {}
    func subscriberDidLoseConnection() {}
    func subscriberDidRecover() {}
}

@Suite("The metadata service")
struct ServiceTests {
    private static let secret = "a secret that is long enough for tests"
    private static var soon: ContinuousClock.Instant { .now + .seconds(20) }

    private func serve<Value: Sendable>(
        postgres: String, redis: String, _ body: @Sendable (RPCClient) async throws -> Value
    ) async throws -> Value {
        let loops = MultiThreadedEventLoopGroup.singleton
        let settings = MetadataSettings(
            postgresURL: TestDatabase.asService(postgres), redisURL: redis,
            rpc: RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: Self.secret))
        let service = try MetadataService(
            settings: settings, environment: ServiceEnvironment(eventLoopGroup: loops, logger: TestDatabase.quiet))
        return try await running([service]) {
            let endpoint = RPCEndpoint(host: "127.0.0.1", port: try await service.rpcPort)
            let client = RPCClient(
                configuration: RPCClientConfiguration(target: .fixed([endpoint]), clusterSecret: Self.secret),
                eventLoopGroup: loops,
                logger: TestDatabase.quiet)
            return try await running([client]) { try await body(client) }
        }
    }

    private func request(
        _ fixture: MetadataFixture, _ id: ConversationID, _ operations: [MetadataOperation]
    ) -> ProtoPatchMetadataRequest {
        var request = ProtoPatchMetadataRequest()
        request.appID = Data(fixture.app)
        request.actor = "ana"
        request.conversationID = Data(id)
        request.operations = operations.map { ProtoMetadataOperation($0) }
        return request
    }

    @Test("the service answers with the change that it publishes, once per position")
    func publishes() async throws {
        let redis = try await TestServers.redis()
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation()
            let log = PublicationLog()
            let subscriber = RedisSubscriber(
                configuration: try RedisConfiguration(url: redis.url),
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton, delegate: log,
                logger: TestDatabase.quiet)
            subscriber.subscribe([Channels.conversation(id)])
            try await running([subscriber]) {
                try await subscriber.confirmation(of: [Channels.conversation(id)], deadline: Self.soon)
                let answered = try await serve(postgres: fixture.url, redis: redis.url) { client in
                    var answered: [Change] = []
                    for operations in [[set("a", "1")], [set("a", "1")], [set("a.b", "2")], [delete("a")]] {
                        let response = try await client.call(
                            MetadataAPI.patchMetadata, with: request(fixture, id, operations), for: .until(Self.soon))
                        if response.hasChange { answered.append(try Change(response.change)) }
                    }
                    return answered
                }
                #expect(answered.map(\.effectDescriptions) == [["a=1"], ["-a", "a.b=2"], ["-a"]])
                var published: [Change] = []
                for await change in log.changes {
                    published.append(change)
                    if published.count == 3 { break }
                }
                #expect(published == answered)
            }
        }
    }

    @Test("the service reads trees, and refuses invalid properties by name")
    func readsAndRefuses() async throws {
        let redis = try await TestServers.redis()
        try await MetadataFixture.run { fixture in
            let id = try await fixture.conversation([("a.b", "1")])
            try await serve(postgres: fixture.url, redis: redis.url) { client in
                let failure = await #expect(throws: Failure.self) {
                    try await client.call(
                        MetadataAPI.patchMetadata, with: request(fixture, id, [set("x", [("x.y", "a\0b")])]),
                        for: .until(Self.soon))
                }
                #expect(failure?.code == .invalidProperty)
                #expect(failure?.detail == .property("metadata.x.y"))
            }
        }
    }

    @Test("the service continues without Redis, and reports when PostgreSQL is down")
    func away() async throws {
        let redis = try await TestServers.privateRedis()
        let postgres = try await TestServers.privatePostgres()
        try await TestDatabase.migrate(postgres.url())
        let app = AppID.random()
        let id = ConversationID.random()
        try await postgres.runSQL(
            """
            INSERT INTO conversations.conversation (id, app_id, created_at, created_by, is_distinct, position, last_change_at)
            VALUES ('\(id)', '\(app)', now(), 'ana', false, 1, now());
            INSERT INTO conversations.participant (conversation_id, user_id, app_id, first_joined, joined, uncounted, hidden_count)
            VALUES ('\(id)', 'ana', '\(app)', 1, 1, 0, 0)
            """)
        try await serve(postgres: postgres.url(), redis: redis.url) { client in
            @Sendable func patch(_ value: String) async throws(Failure) -> ProtoPatchMetadataResponse {
                var request = ProtoPatchMetadataRequest()
                request.appID = Data(app)
                request.actor = "ana"
                request.conversationID = Data(id)
                request.operations = [ProtoMetadataOperation(set("a", value))]
                return try await client.call(MetadataAPI.patchMetadata, with: request, for: .until(Self.soon))
            }
            await redis.kill()
            #expect(try await patch("1").change.position == 2)
            await postgres.kill()
            let failure = await #expect(throws: Failure.self) { try await patch("2") }
            #expect(failure?.code == .serviceUnavailable)
            try await postgres.restart()
            var recovered = false
            for _ in 0..<2000 where !recovered {
                recovered = (try? await patch("3")) != nil
                if !recovered { try await Task.sleep(for: .milliseconds(10)) }
            }
            #expect(recovered)
        }
        await postgres.stop()
        await redis.stop()
    }
}
