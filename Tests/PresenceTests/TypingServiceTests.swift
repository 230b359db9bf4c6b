// SPDX-License-Identifier: Apache-2.0

import Contracts
import Foundation
import LocalServers
import RPC
import Redis
import StrataModel
import TestTiers
import Testing

@testable import Presence

@Suite("Typing through the service", .timeLimit(.minutes(2)))
struct TypingServiceTests {
    private func sendTyping(
        _ client: RPCClient, _ id: ConversationID, _ user: String, _ action: String
    ) async throws(Failure) {
        var request = ProtoTypingRequest()
        request.conversationID = Data(id)
        request.userID = user
        request.action = action
        _ = try await client.call(PresenceAPI.typing, with: request, for: .until(soon))
    }

    /// Runs services, with a client of the first one and a listener on the conversations' channels.
    private func withServices(
        _ count: Int, on fixture: PresenceFixture, _ typing: TypingSettings = .short, listeningTo ids: [ConversationID],
        _ body: @Sendable (RPCClient) async throws -> Void
    ) async throws {
        let services = try (0..<count).map { _ in try fixture.service(typing: typing) }
        try await fixture.listen(to: ids.map(Channels.conversation))
        try await running(services) {
            let client = try await fixture.client(of: services[0])
            try await running([client]) { try await body(client) }
        }
    }

    @Test("a begin pauses and finishes automatically")
    func course() async throws {
        try await PresenceFixture.run { fixture in
            let id = ConversationID.random()
            try await withServices(1, on: fixture, listeningTo: [id]) { client in
                try await sendTyping(client, id, "ana", "started")
                await fixture.log.wait(for: 3)
                #expect(fixture.log.signals == [.started, .paused, .finished].map { signal(id, "ana", $0) })
                #expect(try await fixture.keys() == [])
            }
        }
    }

    @Test("a renewed begin is not announced again, a finish ends it once, and a pause finishes automatically")
    func renewed() async throws {
        try await PresenceFixture.run { fixture in
            let id = ConversationID.random()
            // A long period, so that no typist pauses before the next call, even on a slow machine.
            var typing = TypingSettings.short
            (typing.pauseAfter, typing.repeatAfter) = (.seconds(100), .seconds(50))
            try await withServices(1, on: fixture, typing, listeningTo: [id]) { client in
                for action in ["started", "started", "finished", "finished"] {
                    try await sendTyping(client, id, "ana", action)
                }
                try await sendTyping(client, id, "ben", "paused")
                await fixture.log.wait(for: 4)
                let expected =
                    [("ana", .started), ("ana", .finished), ("ben", .paused), ("ben", .finished)]
                    as [(String, TypingAction)]
                #expect(fixture.log.signals == expected.map { signal(id, $0.0, $0.1) })
                #expect(try await fixture.keys() == [])
            }
        }
    }

    @Test("two instances that sweep concurrently announce each transition exactly once")
    func exactlyOnce() async throws {
        try await PresenceFixture.run { fixture in
            let ids = (0..<20).map { _ in ConversationID.random() }
            try await withServices(2, on: fixture, listeningTo: ids) { client in
                for id in ids {
                    for user in 0..<5 { try await sendTyping(client, id, "u\(user)", "started") }
                }
                await fixture.log.wait(for: 300)
                // A duplicate would have arrived before the signal of a typist who began later.
                try await sendTyping(client, ids[0], "last", "started")
                await fixture.log.wait(for: 303)
                let signals = fixture.log.signals
                #expect(signals.count == 303)
                for id in ids {
                    for user in 0..<5 {
                        let actions = signals.filter { $0.conversationID == id && $0.user.rawValue == "u\(user)" }
                            .map(\.action)
                        #expect(actions == [.started, .paused, .finished])
                    }
                }
            }
        }
    }

    @Test("another instance continues typing when the instance that began it dies")
    func instanceDies() async throws {
        try await PresenceFixture.run { fixture in
            let id = ConversationID.random()
            try await fixture.listen(to: [Channels.conversation(id)])
            let survivor = try fixture.service()
            try await running([survivor]) {
                let doomed = try fixture.service()
                try await running([doomed]) {
                    let client = try await fixture.client(of: doomed)
                    try await running([client]) { try await sendTyping(client, id, "ana", "started") }
                }
                await fixture.log.wait(for: 3)
                #expect(fixture.log.signals.map(\.action) == [.started, .paused, .finished])
            }
        }
    }

    @Test("nothing stays typing when Redis returns empty, and callers fail at once while it is down")
    func redisRestarts() async throws {
        try await PresenceFixture.run { fixture in
            let id = ConversationID.random()
            var typing = TypingSettings.short
            // Redis must be killed before the pause.
            typing.pauseAfter = .seconds(4)
            try await withServices(2, on: fixture, typing, listeningTo: [id]) { client in
                try await sendTyping(client, id, "ana", "started")
                await fixture.log.wait(for: 1)
                await fixture.server.kill()
                let failure = await #expect(throws: Failure.self) { try await sendTyping(client, id, "ana", "started") }
                #expect(failure?.code == .serviceUnavailable)
                try await fixture.server.restart()
                try await fixture.subscriber.confirmation(of: [Channels.conversation(id)], deadline: soon)
                try await eventually("callers still fail") {
                    (try? await sendTyping(client, id, "ben", "started")) != nil
                }
                await fixture.log.wait(for: 4)
                #expect(fixture.log.signals.dropFirst().map(\.user.rawValue) == ["ben", "ben", "ben"])
                #expect(try await fixture.keys() == [])
            }
        }
    }

    @Test("an invalid action or user is refused")
    func refused() async throws {
        try await PresenceFixture.run { fixture in
            try await withServices(1, on: fixture, listeningTo: []) { client in
                let action = await #expect(throws: Failure.self) {
                    try await sendTyping(client, .random(), "ana", "begin")
                }
                #expect(action?.detail == .property("action"))
                let user = await #expect(throws: Failure.self) {
                    try await sendTyping(client, .random(), "a\nb", "started")
                }
                #expect(user?.detail == .property("user_id"))
                var request = ProtoTypingRequest()
                request.userID = "ana"
                request.action = "started"
                let conversation = await #expect(throws: Failure.self) {
                    try await client.call(PresenceAPI.typing, with: request, for: .until(soon))
                }
                #expect(conversation?.code == .internalServerError)
            }
        }
    }
}
