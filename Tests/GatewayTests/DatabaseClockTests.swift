// SPDX-License-Identifier: Apache-2.0
import Contracts
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway
@testable import Sync

/// The times in packets, for all combinations of the gateway's and the database's clocks.
@Suite("the database's clock", .timeLimit(.minutes(3)))
struct DatabaseClockTests {
    private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1_000_000_000_000) + .seconds(seconds) }

    @Test("the clock continues for a while after its last reading, and never goes back")
    func running() {
        let clock = DatabaseClock(asOf: Fixture.time(0), heardAt: at(0))
        #expect(clock.now(at: at(-1)) == Fixture.time(0))
        #expect(clock.now(at: at(0)) == Fixture.time(0))
        #expect(clock.now(at: at(17)) == Fixture.time(17))
        #expect(clock.now(at: at(600)) == Fixture.time(18))
    }

    @Test(
        "a catch-up starts shortly before its socket opened, not before its session, unless the clock was set back since"
    )
    func beginning() {
        func begin(session: Int64) -> Timestamp {
            DatabaseClock.beginning(opened: .seconds(2), before: Fixture.time(100), session: Fixture.time(session))
        }
        #expect(begin(session: 0) == Fixture.time(88))
        #expect(begin(session: 90) == Fixture.time(90))
        // The gateway learns the clock with a small delay.
        #expect(begin(session: 101) == Fixture.time(100))
        #expect(begin(session: 700) == Fixture.time(88))
    }

    @Test("while the time is unknown, packets carry no later time than the start of the catch-up")
    func unknown() {
        var sequence = PacketSequence()
        sequence.opened(at: Fixture.time(10))
        #expect(sequence.allowed(.distantFuture, ceiling: nil, isTimeKnown: false) == Fixture.time(10))
        #expect(sequence.allowed(Fixture.time(5), ceiling: nil, isTimeKnown: false) == Fixture.time(5))
        sequence.addPending(since: Fixture.time(7))
        #expect(sequence.allowed(.distantFuture, ceiling: nil, isTimeKnown: false) == Fixture.time(7))
        #expect(sequence.allowed(.distantFuture, ceiling: Fixture.time(6), isTimeKnown: false) == Fixture.time(6))
        sequence.sent(1, stamp: Fixture.time(8))
        #expect(sequence.allowed(.distantFuture, ceiling: nil, isTimeKnown: false) == Fixture.time(8))
        sequence.caughtUp(asOf: nil, isReplay: false)
        #expect(sequence.allowed(Fixture.time(20), ceiling: nil, isTimeKnown: true) == Fixture.time(20))
    }

    @Test("a live packet has at least its change's time, within the limits, and later packets never go back")
    func live() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 0)
        // The known time of the database lags behind the changes' times.
        try await harness.onLoop { $0.registry.clock = DatabaseClock(asOf: Fixture.time(-3), heardAt: $0.loop.now) }
        try await harness.publish(Fixture.change(1))
        try await ben.ask("Counter.read")
        #expect(
            try await ben.packets().map { $0["timestamp"]?.stringValue }
                == [1, 1].map { ISO8601.string(Fixture.time($0)) })
        try await harness.publish(Fixture.change(2))
        try await harness.onLoop { $0.registry.clock = DatabaseClock(asOf: Fixture.time(10), heardAt: $0.loop.now) }
        try await ben.ask("Counter.read")
        #expect(
            try await ben.packets().map { $0["timestamp"]?.stringValue }
                == [2, 10].map { ISO8601.string(Fixture.time($0)) })
        // Packets are not stamped with times much later than the last comparison of heads.
        try await harness.onLoop { $0.registry.clock = DatabaseClock(asOf: Fixture.time(-22), heardAt: $0.loop.now) }
        let ana = try await harness.socket(of: Fixture.ana, at: 2)
        try await harness.onLoop { $0.registry.clock = DatabaseClock(asOf: Fixture.time(-23), heardAt: $0.loop.now) }
        try await harness.publish(Fixture.change(3))
        #expect(try await ana.packets().map { $0["timestamp"]?.stringValue } == [ISO8601.string(Fixture.time(2))])
    }

    @Test("the first socket finds the time unknown and triggers a comparison of heads")
    func waking() async throws {
        let harness = try await GatewayHarness()
        try await harness.onLoop { $0.registry.clock = DatabaseClock(asOf: Fixture.time(600), heardAt: $0.loop.now) }
        harness.log.state.withLock {
            $0.heads = Heads(conversations: [], added: [], users: [], asOf: Fixture.time(7))
            $0.headReads = 0
        }
        let ben = try await harness.newSocket(of: Fixture.ben)
        #expect(try await harness.onLoop { $0.registry.clock } == nil)
        try await harness.until { _ in harness.log.state.withLock { $0.headReads } == 1 }
        try await harness.until { $0.fanOut.heads.reconciler.since != nil }
        await harness.loop.advanceTime(by: .seconds(1))
        #expect(try await harness.onLoop { $0.registry.clock?.asOf } == Fixture.time(7))
        _ = ben
    }

    @Test(
        "a catch-up without a replay request sends the socket's age and takes the time from the answer",
        arguments: [-600, 600])
    func opened(seconds: Int64) async throws {
        try await FakeConversations.run { harness, fake in
            let asOf = Timestamp.now().advanced(by: .seconds(seconds))
            fake.answers.withLock {
                $0.baseline = {
                    .with {
                        $0.complete = true
                        $0.asOf = asOf.microseconds
                    }
                }
            }
            let ben = try await harness.newSocket(of: Fixture.ben)
            await harness.loop.advanceTime(by: .seconds(1))
            try await ben.ask("Counter.read")
            try await harness.until { _ in ben.isLive }
            let request = try #require(fake.answers.withLock { $0.asked })
            #expect(request.recent == 11_000_000 && !request.wantsEpoch)
            #expect(request.notBefore == Fixture.time(0).microseconds)
            // The session's creation is in the future.
            #expect(try await harness.onLoop { _ in ben.socket.beginning } == asOf.advanced(by: .seconds(-11)))
            #expect(try await harness.onLoop { _ in ben.socket.outbox.sequence.start } >= asOf)
        }
    }
}
