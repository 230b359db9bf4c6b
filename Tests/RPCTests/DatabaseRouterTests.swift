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
        let router = DatabaseRouter(
            [(.main, hanging), (name, answering)], spanning: nil, mostCalls: 2, known: { _ in nil },
            locate: { app, _ in app == first ? 0 : 1 })
        try await withPair(handler: router.handleCall) { (client: RPCClient) async throws in
            let calls = (0..<2).map { _ in Task { try await followed(in: first, by: client) } }
            try await eventually("two calls wait for the first database") { waiting.total == 2 }
            let failure = await #expect(throws: Failure.self) { _ = try await followed(in: first, by: client) }
            #expect(failure?.code == .serviceUnavailable)
            // The third call was refused, and did not wait until it timed out.
            #expect(waiting.total == 2)
            #expect(try await followed(in: second, by: client) == ["ben"])
            for call in calls { call.cancel() }
        }
    }

    @Test("calls that wait until the database of their app is known leave room for the calls of known apps")
    func waiting() async throws {
        var (answering, spanning) = (CallRouter(logger: quiet), CallRouter(logger: quiet))
        answering.register(ConversationsAPI.followed) { _, _ in .with { $0.userIds = ["ben"] } }
        spanning.register(ConversationsAPI.findSession) { _, _ in .with { $0.database = "second" } }
        let (name, waiting, known) = (try #require(DatabaseName("second")), Count(), second)
        let router = DatabaseRouter(
            [(.main, answering), (name, answering)], spanning: spanning, mostCalls: 2,
            known: { $0 == known ? 1 : nil },
            locate: { _, _ in
                waiting.add()
                try await Task.sleep(for: .seconds(600))
                return nil
            })
        try await withPair(handler: router.handleCall) { (client: RPCClient) async throws in
            let calls = (0..<2).map { _ in Task { try await followed(in: first, by: client) } }
            try await eventually("two calls wait for the place of their app") { waiting.total == 2 }
            let failure = await #expect(throws: Failure.self) { _ = try await followed(in: first, by: client) }
            #expect(failure?.code == .serviceUnavailable && waiting.total == 2)
            let refusal = await #expect(throws: Failure.self) { _ = try await session(of: nil, by: client) }
            #expect(refusal?.code == .serviceUnavailable)
            for _ in 0..<3 { #expect(try await followed(in: second, by: client) == ["ben"]) }
            #expect(try await session(of: second, by: client).database == "second")
            for call in calls { call.cancel() }
        }
    }

    private func session(of app: AppID?, by client: RPCClient) async throws -> ProtoSession {
        try await client.call(
            ConversationsAPI.findSession, with: .with { $0.appID = app.map { Data($0) } ?? Data() },
            for: .within(.seconds(60)))
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
        let router = DatabaseRouter(
            routers, spanning: nil, mostCalls: 100, known: { _ in nil }, locate: { app, _ in app == second ? 1 : nil })
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
