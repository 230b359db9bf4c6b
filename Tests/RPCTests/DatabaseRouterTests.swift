// SPDX-License-Identifier: Apache-2.0

import Contracts
import FoundationEssentials
import StrataModel
import SwiftProtobuf
import TestTiers
import Testing

@testable import RPC

@Suite("calls of several databases")
struct DatabaseRouterTests {
    private let first = AppID.random()
    private let second = AppID.random()

    private func followed(in app: AppID, by client: RPCClient) async throws -> [String] {
        try await client.call(
            ConversationsAPI.followed, with: .with { $0.appID = Data(app) }, for: .within(.seconds(60))
        )
        .userIds
    }

    @Test("a database that does not answer leaves room for the calls of the others")
    func room() async throws {
        let waiting = Count()
        var hanging = CallRouter(logger: quiet)
        hanging.register(ConversationsAPI.followed) { _, _ in
            waiting.add()
            try await Task.sleep(for: .seconds(600))
            return ProtoFollowedResponse()
        }
        var answering = CallRouter(logger: quiet)
        answering.register(ConversationsAPI.followed) { _, _ in .with { $0.userIds = ["ben"] } }
        let name = try #require(DatabaseName("second"))
        let router = DatabaseRouter([(.main, hanging), (name, answering)], spanning: nil, mostCalls: 2) { app, _ in
            app == first ? 0 : 1
        }
        try await withPair(handler: router.handleCall) { (client: RPCClient) async throws in
            let calls = (0..<2).map { _ in Task { try await followed(in: first, by: client) } }
            try await eventually("two calls wait for the first database") { waiting.total == 2 }
            let failure = await #expect(throws: Failure.self) { _ = try await followed(in: first, by: client) }
            #expect(failure?.code == .serviceUnavailable)
            #expect(try await followed(in: second, by: client) == ["ben"])
            for call in calls { call.cancel() }
        }
    }

    @Test("a call goes to the database that it names, or to that of its app")
    func routes() async throws {
        let routers = ["main", "second"]
            .map { name in
                var router = CallRouter(logger: quiet)
                router.register(ConversationsAPI.followed) { _, _ in .with { $0.userIds = [name] } }
                router.register(ConversationsAPI.heads) { _, _ in .with { $0.epoch = name } }
                return (name: DatabaseName(name) ?? .main, router: router)
            }
        let router = DatabaseRouter(routers, spanning: nil, mostCalls: 100) { app, _ in app == second ? 1 : nil }
        try await withPair(handler: router.handleCall) { (client: RPCClient) async throws in
            // The first database refuses unknown apps.
            #expect(try await followed(in: first, by: client) == ["main"])
            #expect(try await followed(in: second, by: client) == ["second"])
            for name in ["main", "second"] {
                let heads = try await client.call(
                    ConversationsAPI.heads, with: .with { $0.database = name }, for: .within(.seconds(60)))
                #expect(heads.epoch == name)
            }
            let failure = await #expect(throws: Failure.self) {
                _ = try await client.call(
                    ConversationsAPI.heads, with: .with { $0.database = "third" }, for: .within(.seconds(60)))
            }
            #expect(failure?.code == .invalidProperty)
        }
    }
}
