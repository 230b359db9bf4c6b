// SPDX-License-Identifier: Apache-2.0
import Contracts
import NIOCore
import NIOEmbedded
import StrataModel
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// A database that was restored to an older state or replaced by a replica.
@Suite(.timeLimit(.minutes(3)))
struct EpochTests {
    private static let first = "0660db668cf3ee0000000001"
    private static let second = "0660db668cf3ef0000000000"

    private func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(UInt64(seconds) * 1_000_000_000) }

    // MARK: Comparison of epochs

    @Test("a gateway follows the first epoch and newer ones, and does not return to an ended one")
    func order() {
        var watch = EpochWatch()
        #expect(!watch.isForeign(Self.first))
        #expect(watch.answered(Self.first, at: time(10)) == .follow)
        #expect(watch.answered(Self.first, at: time(20)) == .follow)
        #expect(watch.isForeign(Self.second))
        #expect(watch.answered(Self.second, at: time(30)) == .startAnew)
        #expect(watch.isForeign(Self.first))
        #expect(!watch.isForeign(Self.second))
        #expect(watch.answered(Self.first, at: time(40)) == .ignore)
        #expect(watch.answered(Self.second, at: time(50)) == .follow)
        #expect(watch.answered(Self.first, at: time(79)) == .ignore)
        #expect(watch.current == Self.second)
    }

    @Test("a gateway returns to an older epoch after hearing only that for a long time")
    func back() {
        var watch = EpochWatch()
        _ = watch.answered(Self.first, at: time(10))
        _ = watch.answered(Self.second, at: time(20))
        #expect(watch.answered(Self.first, at: time(51)) == .ignore)
        #expect(watch.answered(Self.first, at: time(81)) == .ignore)
        #expect(watch.answered(Self.first, at: time(82)) == .startAnew)
        #expect(watch.current == Self.first)
    }

    @Test("an older service that answers first after an idle period does not count as the only one")
    func afterSleep() {
        var watch = EpochWatch()
        _ = watch.answered(Self.second, at: time(10))
        #expect(watch.answered(Self.first, at: time(20)) == .ignore)
        watch.lastSocketClosed()
        #expect(watch.answered(Self.first, at: time(300)) == .ignore)
        #expect(watch.answered(Self.second, at: time(310)) == .follow)
        #expect(watch.answered(Self.first, at: time(360)) == .ignore)
    }

    @Test("epochs without an order are older than all others; a service without an epoch is trusted")
    func unordered() {
        var watch = EpochWatch()
        _ = watch.answered("ffffffffffffffff", at: time(10))
        #expect(watch.answered("", at: time(11)) == .follow)
        #expect(!watch.isForeign(""))
        #expect(watch.answered(Self.first, at: time(12)) == .startAnew)
        #expect(watch.answered("ffffffffffffffff", at: time(13)) == .ignore)
    }

    // MARK: Effects of a new epoch

    private func setHeads(_ harness: GatewayHarness, at position: Int64, epoch: String) {
        harness.log.state.withLock {
            $0.heads = Heads(
                conversations: [(Fixture.conversation, Position(position))], added: [], users: [],
                asOf: Fixture.time(10), epoch: epoch)
        }
    }

    /// Advances time until the gateway has read heads and follows `epoch`.
    private func follow(_ epoch: String, _ harness: GatewayHarness) async throws {
        while try await harness.onLoop({ $0.fanOut.heads.epochs.current != epoch }) {
            try Task.checkCancellation()
            await harness.loop.advanceTime(by: .milliseconds(100))
            await Task.yield()
        }
        await harness.loop.run()
    }

    private func publish(_ change: Change, epoch: String, _ harness: GatewayHarness) async throws {
        let payload = try ConversationPublication.change(change).encoded(epoch: epoch)
        try await harness.onLoop {
            $0.fanOut.subscriber(
                didReceive: payload, on: ByteBuffer(string: Channels.conversation(change.conversationID)))
        }
    }

    @Test(
        "decreasing positions alone reveal a restore: sockets are closed, and reconnecting clients receive changes from there"
    )
    func putBack() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        setHeads(harness, at: 5, epoch: Self.first)
        try await follow(Self.first, harness)
        try await publish(Fixture.change(5), epoch: Self.first, harness)
        #expect(try await socket.positions() == [5])
        // Changes after position 2 are lost.
        setHeads(harness, at: 2, epoch: Self.second)
        try await publish(Fixture.change(3), epoch: Self.second, harness)
        try await follow(Self.second, harness)
        #expect(try await socket.closeCode() == 1001)
        // The conversation stays subscribed, because a catch-up of the harness keeps it.
        let other = try await harness.socket(of: Fixture.ben, at: 2)
        #expect(try await harness.onLoop { _ in other.socket.registration.conversations.count } == 1)
        try await publish(Fixture.change(3), epoch: Self.second, harness)
        #expect(try await other.positions() == [3])
        // Changes from a service that is still connected to the old database are not forwarded.
        try await publish(Fixture.change(4), epoch: Self.first, harness)
        try await publish(Fixture.change(6), epoch: Self.first, harness)
        #expect(try await other.positions() == [])
        try await publish(Fixture.change(4), epoch: Self.second, harness)
        #expect(try await other.positions() == [4])
        #expect(try await harness.onLoop { $0.registry.gapFloor } == nil)
    }

    @Test("a doubt that arises during a heads request triggers another request soon, also if the first answer is late")
    func doubtWhileAsking() async throws {
        for comesLate in [false, true] {
            let harness = try await GatewayHarness()
            _ = try await harness.socket(of: Fixture.ben, at: 4)
            setHeads(harness, at: 4, epoch: Self.first)
            try await follow(Self.first, harness)
            let reads = harness.log.state.withLock { state in
                state.areHeadsHeld = true
                return state.headReads
            }
            try await harness.onLoop { $0.fanOut.fetchHeads() }
            while harness.log.state.withLock({ $0.headReads }) == reads { await Task.yield() }
            setHeads(harness, at: 2, epoch: Self.second)
            try await publish(Fixture.change(3), epoch: Self.second, harness)
            if comesLate { await harness.loop.advanceTime(by: .seconds(2)) }
            harness.log.state.withLock { $0.areHeadsHeld = false }
            while try await harness.onLoop({ $0.fanOut.heads.reconciler.isAsking }) {
                await harness.loop.run()
                await Task.yield()
            }
            await harness.loop.advanceTime(by: .seconds(1))
            while harness.log.state.withLock({ $0.headReads }) == reads + 1 {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    private func askForHeads(_ harness: GatewayHarness) async throws {
        try await harness.onLoop { $0.fanOut.fetchHeads() }
        try await harness.until { !$0.fanOut.heads.reconciler.isAsking }
    }

    @Test("an answer from before all users had left is ignored after a user returns")
    func nobodyThere() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        setHeads(harness, at: 4, epoch: Self.second)
        try await follow(Self.second, harness)
        setHeads(harness, at: 4, epoch: Self.first)
        try await askForHeads(harness)
        try await harness.onLoop { harness in
            socket.channel.close(promise: nil)
            harness.registry.endJoining([Fixture.conversation])
        }
        while !(try await harness.onLoop { $0.fanOut.conversations.isEmpty && $0.fanOut.users.isEmpty }) {
            try Task.checkCancellation()
            await harness.loop.advanceTime(by: .seconds(1))
        }
        for _ in 0..<60 { await harness.loop.advanceTime(by: .seconds(1)) }
        _ = try await harness.socket(of: Fixture.ben, at: 4)
        try await askForHeads(harness)
        #expect(try await harness.onLoop { $0.fanOut.heads.epochs.current } == Self.second)
    }

    @Test("answers requested before the sequences were reset are discarded")
    func readBefore() async throws {
        let harness = try await GatewayHarness()
        _ = try await harness.socket(of: Fixture.ben, at: 4)
        setHeads(harness, at: 4, epoch: Self.first)
        try await follow(Self.first, harness)
        setHeads(harness, at: 2, epoch: Self.second)
        try await harness.onLoop { $0.fanOut.scheduleEpochCheck() }
        try await follow(Self.second, harness)
        let stale = harness.fanOut.startSequences(at: [(Fixture.conversation, Position(4))], era: 0)
        await harness.loop.run()
        await #expect(throws: CancellationError.self) { _ = try await stale.get() }
        #expect(try await harness.onLoop { $0.fanOut.conversations[Fixture.conversation]?.feed.last } == nil)
        let current = harness.fanOut.startSequences(at: [(Fixture.conversation, Position(2))], era: 1)
        await harness.loop.run()
        #expect(try await current.get() == [Position(2)])
    }
}
