// SPDX-License-Identifier: Apache-2.0

import Contracts
import Crypto
import Foundation
import Logging
import NIOCore
import NIOPosix
import RPC
import StrataModel
import SwiftProtobuf
import TestCluster
import Testing

@testable import Webhooks

/// Tests of webhooks by operators, against PostgreSQL and a receiver.
@Suite("tests of webhooks", .timeLimit(.minutes(2)))
struct WebhookTesterTests {
    /// Runs `body` with a call of `TestWebhook`.
    private func run(
        _ others: [String: String] = [:],
        _ body:
            @Sendable (
                HookDatabase, WebhookReceiver, @escaping @Sendable (WebhookID) async throws -> ProtoTestWebhookResponse
            ) async throws -> Void
    ) async throws {
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await HookDatabase.run { database in
            let settings = try database.settings(others)
            let sender = HTTPSender(
                policy: AddressPolicy(allowed: settings.allowedAddresses), timeout: settings.timeout,
                connectionsPerHost: 4, trustedRoots: [], group: MultiThreadedEventLoopGroup.singleton)
            let handler = WebhookHandler(
                store: database.store,
                verifier: Verifier(store: database.store, sender: sender, settings: settings, logger: quiet),
                tester: WebhookTester(sender: sender, secrets: database.secrets, settings: settings),
                secrets: database.secrets, settings: settings)
            var router = CallRouter(logger: quiet)
            handler.register(on: &router)
            let receiver = try await WebhookReceiver.start()
            try await body(database, receiver) { [router] hook in
                let request = ProtoWebhookRequest.with { ($0.appID, $0.id) = (Data(database.app), Data(hook)) }
                let context = RPCContext(
                    method: WebhooksAPI.testWebhook.method, deadline: HookDatabase.soon, trace: .random(), peer: "test")
                do {
                    return try ProtoTestWebhookResponse(
                        protobuf: await router.handleCall(context, payload: try ByteBuffer(protobuf: request)))
                } catch let error as RPCError {
                    throw Failure(try ProtoFailure(protobuf: try #require(error.payload)))
                }
            }
            await receiver.stop()
            await sender.shutDown()
        }
    }

    private func hook(_ database: HookDatabase, at url: String, status: String = "active") async throws -> WebhookID {
        let hook = try await database.hook(status: status)
        try await database.sql("UPDATE webhooks.hook SET target_url = '\(url)' WHERE id = '\(hook)'")
        return hook
    }

    @Test("a test is one signed event without objects, and nothing is recorded", arguments: ["active", "inactive"])
    func accepted(_ status: String) async throws {
        try await run { database, receiver, test in
            let hook = try await hook(database, at: receiver.url("/hook"), status: status)
            let answer = try await test(hook)
            #expect(answer.status == 200 && answer.error.isEmpty)
            let event = try #require(receiver.events(at: "/hook").first)
            #expect(receiver.events(at: "/hook").count == 1)
            #expect(event.type == "Test" && event.headers["layer-webhook-event-type"] == "Test")
            #expect(event.id != nil && event.id == event.headers["layer-webhook-request-id"])
            let key = SymmetricKey(data: Data(HookDatabase.secret.utf8))
            let signature = EventRequest.signature(of: ByteBuffer(bytes: event.body), with: key)
            #expect(event.headers["layer-webhook-signature"] == signature)
            for table in ["event", "outbox", "lane", "delivery"] {
                #expect(try await database.number("SELECT count(*) FROM webhooks.\(table)") == 0)
            }
            #expect(try await database.texts("SELECT status FROM webhooks.hook") == [status])
        }
    }

    @Test("an answer that refuses the event, and a missing one, are reported with the reason")
    func refused() async throws {
        try await run { database, receiver, test in
            receiver.set(.answer(418), for: "/hook")
            let answer = try await test(try await hook(database, at: receiver.url("/hook")))
            #expect(answer.status == 418 && answer.error.hasPrefix("unexpected response status: 418"))
            receiver.set(.close, for: "/closing")
            let closed = try await test(try await hook(database, at: receiver.url("/closing")))
            #expect(closed.status == 0 && closed.error == "the receiver closed the connection before it answered")
            let private1 = try await test(try await hook(database, at: "http://10.0.0.1/hook"))
            #expect(private1.status == 0 && private1.error.contains("private or reserved"))
        }
    }

    @Test("an unknown webhook, an unreadable secret, and a second test at the same time are refused")
    func limits() async throws {
        try await run { database, receiver, test in
            await #expect(throws: Failure.notFound("webhook")) { try await test(.random()) }
            let broken = try await hook(database, at: receiver.url("/hook"))
            try await database.sql("UPDATE webhooks.hook SET secret = '\\x01' WHERE id = '\(broken)'")
            let failure = await #expect(throws: Failure.self) { try await test(broken) }
            #expect(failure?.code == .invalidOperation)

            receiver.set(.hang, for: "/hanging")
            let hanging = try await hook(database, at: receiver.url("/hanging"))
            let first = Task { try await test(hanging) }
            _ = try await receiver.events(at: "/hanging") { $0.count == 1 }
            let second = await #expect(throws: Failure.self) { try await test(hanging) }
            #expect(second?.code == .rateLimitExceeded)
            first.cancel()
            let interrupted = await #expect(throws: Failure.self) { try await first.value }
            #expect(interrupted?.code == .serviceUnavailable)
        }
    }
}
