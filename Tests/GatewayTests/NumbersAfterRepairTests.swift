// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// Changes read from the log carry no counts. No socket may receive outdated counts, and each must finally receive the
/// right ones.
@Suite("counts after changes were read from the log", .timeLimit(.minutes(3)))
struct NumbersAfterRepairTests {
    private static func userCounts(_ excluded: Int64, at position: Int64, hidden: Int64 = 0) -> UserCounts {
        UserCounts(excluded: excluded, hidden: hidden, position: Position(position))
    }

    private static func change(
        _ position: Int64, messages: Int64, _ content: Change.Content = .metadataChanged([])
    ) -> Change {
        var change = Fixture.change(position, content)
        change.messageCount = messages
        return change
    }

    private static func message(_ ordinal: Int64, at position: Int64) -> Change.Content {
        let message = Fixture.message(ordinal, at: position)
        return .messageCreated(id: message.id, ordinal: ordinal, message)
    }

    /// Returns the position and value of every count that was sent.
    private func counts(_ packets: [JSONValue], _ property: String) -> [[Int64]] {
        packets.flatMap { packet in
            (packet["body"]?["data"]?.arrayValue ?? []).filter { $0["property"]?.stringValue == property }
                .compactMap { operation in
                    guard let value = operation["value"]?.integerValue,
                        let position = packet["body"]?["position"]?.integerValue
                    else { return nil }
                    return [position, value]
                }
        }
    }

    @Test("a user who has read everything elsewhere receives only a count of 0, although the change came from the log")
    func allRead() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 4)
        let ana = try await harness.socket(of: Fixture.ana, at: 4)
        harness.log.append(
            Self.change(5, messages: 7, .allRead(user: Fixture.ben, upTo: Position(4), audience: nil)),
            Self.change(6, messages: 7))
        harness.log.state.withLock {
            $0.counts = [Fixture.ben: Self.userCounts(7, at: 6), Fixture.ana: Self.userCounts(7, at: 6)]
        }
        try await harness.publish(Self.change(6, messages: 7))
        await harness.loop.advanceTime(by: .milliseconds(100))
        try await harness.until { $0.registry.gapFloor == nil }
        let told = try await ben.packets()
        #expect(told.compactMap { $0["body"]?["position"]?.integerValue } == [5, 6, 6])
        #expect(counts(told, "unread_message_count") == [[6, 0]])
        #expect(counts(told, "total_message_count") == [[6, 7]])
        // The counts of all other users are unchanged.
        #expect(try await ana.positions() == [5, 6])
    }

    @Test("a message read from the log reaches users with unchanged counts at once, and its sender afterwards")
    func message() async throws {
        let harness = try await GatewayHarness()
        let ana = try await harness.socket(of: Fixture.ana, at: 4)
        let ben = try await harness.socket(of: Fixture.ben, at: 4)
        harness.log.append(Self.change(5, messages: 1, Self.message(1, at: 5)))
        harness.log.state.withLock {
            $0.counts = [Fixture.ana: Self.userCounts(1, at: 6), Fixture.ben: Self.userCounts(0, at: 6)]
        }
        // This change is published, but arrives ahead of the missing one.
        var second = Self.change(6, messages: 2, Self.message(2, at: 6))
        second.actor = Fixture.ben
        second.counts = [Fixture.ben: Self.userCounts(1, at: 6)]
        harness.log.append(second)
        try await harness.publish(second)
        await harness.loop.advanceTime(by: .milliseconds(100))
        try await harness.until { $0.registry.gapFloor == nil }
        let (sender, reader) = (try await ana.packets(), try await ben.packets())
        #expect(counts(reader, "unread_message_count") == [[5, 1], [6, 1]])
        #expect(counts(reader, "total_message_count") == [[5, 1], [6, 2]])
        #expect(counts(sender, "unread_message_count") == [[6, 1]])
        #expect(counts(sender, "total_message_count") == [[6, 2]])
    }

    @Test(
        "a socket that joins during a log read receives its counts too, and its packets carry no later time until then")
    func lateComer() async throws {
        let harness = try await GatewayHarness()
        _ = try await harness.socket(of: Fixture.ana, at: 4)
        harness.log.append(
            Self.change(5, messages: 3),
            Self.change(6, messages: 3, .allRead(user: Fixture.ben, upTo: Position(4), audience: nil)),
            Self.change(7, messages: 3))
        harness.log.state.withLock {
            $0.counts = [Fixture.ana: Self.userCounts(3, at: 7)]
            $0.isHeld = true
        }
        try await harness.publish(Self.change(7, messages: 3))
        await harness.loop.advanceTime(by: .milliseconds(100))
        try await harness.until { harness in harness.log.state.withLock { $0.reads } == 1 }
        let ben = try await harness.socket(of: Fixture.ben, at: 5)
        harness.log.state.withLock { $0.isHeld = false }
        try await harness.until { $0.registry.conversations[Fixture.conversation]?.last == Position(7) }
        #expect(counts(try await ben.packets(), "unread_message_count") == [])
        #expect(try await harness.onLoop { $0.registry.gapFloor } == Fixture.time(6))
        harness.log.state.withLock { $0.counts?[Fixture.ben] = Self.userCounts(3, at: 7) }
        await harness.loop.advanceTime(by: .milliseconds(250))
        try await harness.until { $0.registry.gapFloor == nil }
        #expect(counts(try await ben.packets(), "unread_message_count") == [[7, 0]])
    }

    @Test(
        "a user removed before the counts are known receives them if possible, and otherwise reconnects to replay",
        arguments: [true, false])
    func removed(areKnown: Bool) async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 4)
        _ = try await harness.socket(of: Fixture.ana, at: 4)
        let removal = Self.change(
            7, messages: 2,
            .participantsChanged(added: [], removed: [Fixture.ben], distinctCleared: false, conversation: nil))
        var second = Self.change(6, messages: 2, Self.message(2, at: 6))
        second.actor = Fixture.ben
        harness.log.append(
            Self.change(5, messages: 1, .allRead(user: Fixture.ben, upTo: Position(4), audience: nil)), second, removal)
        harness.log.state.withLock { $0.counts = [:] }
        // A published change carries its counts; one read from the log does not.
        if areKnown {
            second.counts = [Fixture.ben: Self.userCounts(1, at: 6)]
            try await harness.publish(second)
        }
        try await harness.publish(removal)
        await harness.loop.advanceTime(by: .milliseconds(100))
        try await harness.until { $0.registry.gapFloor == nil }
        guard areKnown else { return #expect(try await harness.onLoop { _ in ben.socket.isClosing }) }
        let told = try await ben.packets()
        #expect(counts(told, "unread_message_count") == [[6, 1], [7, 1]])
        #expect(counts(told, "total_message_count") == [[6, 2], [7, 2]])
    }
}
