// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import Foundation
import LocalServers
import ServiceKit
import StrataModel
import SwiftProtobuf
import TestSupport
import TestTiers
import Testing

@testable import Conversations

@Suite(.timeLimit(.minutes(2))) struct ConversationsServiceTests {
    let app = AppID.random()
    let provider = UUID()
    let keyID = UUID()

    private func signIn(_ running: RunningService, _ user: String) async throws -> ProtoSignInResponse {
        try await running.call(ConversationsAPI.signIn) {
            $0.appID = Data(app)
            $0.identityToken = try running.token(user, provider: provider, keyID: keyID)
        }
    }

    @Test("sign-in, session lookup, check and end work over a socket, and gateways are notified")
    func endToEnd() async throws {
        let (postgres, redis) = (try await ServiceFixture.migratedDatabase(), try await TestServers.redis().url)
        try await RunningService.run(postgres: postgres, redis: redis) { running in
            try await running.createApp(app, provider: provider, keyID: keyID)
            let ana = UserID(trusted: "ana")
            try await Listener.run(redis, [Channels.user(app: app, user: ana)]) { listener in
                let opened = try await signIn(running, "ana")
                #expect(opened.identity.basic.userID == "ana")
                let digest = Data(SHA256.hash(data: Data(opened.sessionToken.utf8)))
                let session = try await running.call(ConversationsAPI.findSession) { $0.tokenDigest = digest }
                #expect(session.appID == Data(app) && session.identity.userID == "ana")
                let unknown = Data(repeating: 7, count: 32)
                let checked = try await running.call(ConversationsAPI.checkSessions) {
                    $0.tokenDigests = [digest, unknown]
                }
                #expect(checked.ended == [unknown])
                _ = try await running.call(ConversationsAPI.endSession) { $0.tokenDigest = digest }
                let (channel, payload) = try #require(await listener.next())
                #expect(channel == Channels.user(app: app, user: ana))
                #expect(
                    try UserNotice(decoding: payload)
                        == UserNotice(appID: app, user: ana, content: .sessionEnded(tokenDigest: [UInt8](digest))))
                let refusal = await running.failure(of: ConversationsAPI.findSession, .with { $0.tokenDigest = digest })
                #expect(refusal == .sessionEnded)
            }
        }
    }

    @Test("refusals keep their kind over a socket")
    func refusals() async throws {
        let (postgres, redis) = (try await ServiceFixture.migratedDatabase(), try await TestServers.redis().url)
        try await RunningService.run(postgres: postgres, redis: redis) { running in
            try await running.createApp(app, provider: provider, keyID: keyID)
            func failure(_ app: Data, _ token: String) async -> Failure? {
                await running.failure(
                    of: ConversationsAPI.signIn,
                    .with {
                        $0.appID = app
                        $0.identityToken = token
                    })
            }
            let token = try running.token("ana", provider: provider, keyID: keyID)
            #expect(await failure(Data(app), "") == .missing("identity_token"))
            #expect(await failure(Data(), token) == .missing("app_id"))
            #expect(await failure(Data([1, 2]), token) == .invalidApp)
            #expect(await failure(Data(AppID.random()), token) == .invalidApp)
            #expect(await failure(Data(app), "nonsense") == .invalidToken)
            #expect(await failure(Data(app), token) == nil)
            #expect(await failure(Data(app), token) == .invalidToken)
        }
    }

    @Test("identities are returned over a socket in request order, unknown ones as minimal identities")
    func identities() async throws {
        let (postgres, redis) = (try await ServiceFixture.migratedDatabase(), try await TestServers.redis().url)
        try await RunningService.run(postgres: postgres, redis: redis) { running in
            let answer = try await running.call(ConversationsAPI.identities) {
                $0.appID = Data(app)
                $0.userIds = ["zoe", "ana", "ben", "ana"]
            }
            #expect(answer.identities.map(\.basic.userID) == ["zoe", "ana", "ben", "ana"])
            #expect(answer.identities.allSatisfy { !$0.basic.hasDisplayName && $0.metadata.isEmpty })
            let refusal = await running.failure(
                of: ConversationsAPI.identities,
                .with {
                    $0.appID = Data(app)
                    $0.userIds = [String(repeating: "x", count: 200)]
                })
            #expect(refusal?.code == .notFound)
        }
    }

    @Test("writes continue without Redis")
    func withoutRedis() async throws {
        let postgres = try await ServiceFixture.migratedDatabase()
        let redis = try await TestServers.privateRedis()
        await redis.stop()
        try await RunningService.run(postgres: postgres, redis: redis.url) { running in
            try await running.createApp(app, provider: provider, keyID: keyID)
            let digest = Data(SHA256.hash(data: Data(try await signIn(running, "ana").sessionToken.utf8)))
            _ = try await running.call(ConversationsAPI.endSession) { $0.tokenDigest = digest }
            #expect(
                await running.failure(of: ConversationsAPI.findSession, .with { $0.tokenDigest = digest })
                    == .sessionEnded)
        }
    }

    @Test(
        "while PostgreSQL is down, calls are refused as unavailable and readiness fails; both recover without a restart"
    )
    func withoutPostgres() async throws {
        let redis = try await TestServers.redis().url
        let server = try await TestServers.privatePostgres()
        let url = try await TestServers.freshDatabase(on: server)
        try await ServiceFixture.migrate(url)
        try await RunningService.run(postgres: url, redis: redis) { running in
            let health = Health()
            running.service.addChecks(to: health)
            try await running.createApp(app, provider: provider, keyID: keyID)
            let digest = Data(SHA256.hash(data: Data(try await signIn(running, "ana").sessionToken.utf8)))
            #expect(await health.report().isReady)
            await server.kill()
            // The first calls may still use the broken connections. Both answers mean the same to a client.
            for _ in 0..<3 {
                let failure = await running.failure(of: ConversationsAPI.findSession, .with { $0.tokenDigest = digest })
                #expect(failure == .unavailable)
            }
            #expect(await !health.report().isReady)
            try await server.restart()
            try await eventually {
                await running.failure(of: ConversationsAPI.findSession, .with { $0.tokenDigest = digest }) == nil
            }
            #expect(await health.report().isReady)
        }
        await server.stop()
    }
}
