// SPDX-License-Identifier: Apache-2.0
import Contracts
import StrataModel
import StrataWire
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// Presence requests and presence changes must reach a client in a consistent order.
@Suite("The order of presence on a socket", .timeLimit(.minutes(3)))
struct PresenceOrderTests {
    private static let ben = Fixture.ben.layerID

    /// Returns the statuses in answers to `Presence.sync` and in change packets.
    private func statuses(_ packets: [JSONValue]) -> [String] {
        packets.flatMap { packet in
            guard let body = packet["body"] else { return [String]() }
            let changes = packet["type"]?.stringValue == "change" ? [body] : body["data"]?["changes"]?.arrayValue ?? []
            return changes.flatMap { $0["data"]?.arrayValue ?? [] }
                .filter { $0["property"]?.stringValue == "presence.status" }
                .compactMap { $0["value"]?.stringValue }
        }
    }

    private func answers(_ packets: [JSONValue]) -> [String] {
        packets.compactMap { $0["body"]?["request_id"]?.stringValue }
    }

    private func publication(_ status: Presence.Status) -> PresencePublication {
        PresencePublication(appID: Fixture.app, user: Fixture.ben, presence: Presence(status: status, lastSeenAt: nil))
    }

    @Test("a status is set before a later sync is answered, however long setting it takes")
    func inOrder() async throws {
        try await FakeConversations.run { harness, fake in
            let ben = try await harness.socket(of: Fixture.ben, at: 1)
            let mayAnswer = Flag()
            let calls = Mutex<[FakeConversations.PresenceCall]>([])
            fake.answers.withLock { answers in
                answers.presence = { call in
                    calls.withLock { $0.append(call) }
                    while call == .set, !mayAnswer.isSet { await Task.yield() }
                }
            }
            try await ben.ask("Presence.subscribe", "subscribe")
            try await ben.ask(
                "Presence.update", "update", data: #"[{"operation":"set","property":"status","value":"busy"}]"#)
            try await ben.ask("Presence.sync", "sync", data: #"{"ids":["\#(Self.ben)"]}"#)
            try await harness.until { _ in calls.withLock { $0 } == [.set] }
            for _ in 0..<1000 { await Task.yield() }
            #expect(calls.withLock { $0 } == [.set])
            mayAnswer.set()
            try await harness.until { _ in !ben.socket.requests.isWorkingInOrder }
            let packets = try await ben.packets()
            #expect(answers(packets) == ["subscribe", "update", "sync"])
            #expect(statuses(packets) == ["busy"])
        }
    }

    @Test("changes during a sync follow its answer, the latest status per user")
    func behindTheAnswer() async throws {
        try await FakeConversations.run { harness, fake in
            let ben = try await harness.socket(of: Fixture.ben, at: 1)
            try await ben.ask("Presence.subscribe", "subscribe")
            try await harness.until { _ in !ben.socket.requests.isWorkingInOrder }
            #expect(answers(try await ben.packets()) == ["subscribe"])
            let (isAsked, mayAnswer) = (Flag(), Flag())
            fake.answers.withLock { answers in
                answers.statuses = [Fixture.ben.rawValue: "away"]
                answers.presence = { _ in
                    isAsked.set()
                    while !mayAnswer.isSet { await Task.yield() }
                }
            }
            try await ben.ask("Presence.sync", "sync", data: #"{"ids":["\#(Self.ben)"]}"#)
            try await harness.until { _ in isAsked.isSet }
            try await harness.onLoop { $0.registry.presenceChanged(publication(.available)) }
            try await harness.onLoop { $0.registry.presenceChanged(publication(.busy)) }
            #expect(try await ben.packets().isEmpty)
            mayAnswer.set()
            try await harness.until { _ in !ben.socket.requests.isWorkingInOrder }
            #expect(statuses(try await ben.packets()) == ["away", "busy"])
            try await harness.onLoop { $0.registry.presenceChanged(publication(.offline)) }
            #expect(statuses(try await ben.packets()) == ["offline"])
        }
    }

    @Test("a client that unsubscribes right after subscribing receives nothing")
    func unsubscribing() async throws {
        try await FakeConversations.run { harness, _ in
            let ben = try await harness.socket(of: Fixture.ben, at: 1)
            try await ben.ask("Presence.subscribe", "subscribe")
            try await ben.ask("Presence.unsubscribe", "unsubscribe")
            try await harness.until { _ in !ben.socket.requests.isWorkingInOrder }
            #expect(answers(try await ben.packets()) == ["subscribe", "unsubscribe"])
            try await harness.onLoop { $0.registry.presenceChanged(publication(.busy)) }
            #expect(try await ben.packets().isEmpty)
        }
    }
}
