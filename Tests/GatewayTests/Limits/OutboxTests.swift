// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway

@Suite("outbox of a socket")
struct OutboxTests {
    private let answers = AnswerBudget(limit: 64 << 20)
    private let renderer = Renderer(
        baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org", fullReceiptRecipients: 25,
        locateContent: { _ in ContentLocation(downloadURL: nil, expiration: nil) })

    private func packet() -> Rendering {
        Rendering([renderer.countsChanged(Fixture.conversation, at: Position(1))], in: answers)
    }

    private func large() -> Rendering {
        let effects = (0..<80)
            .map { MetadataEffect(path: MetadataPath(trusted: "key\($0)"), value: String(repeating: "x", count: 2000)) }
        let change = Fixture.change(5, .metadataChanged(effects))
        let variant = Variant(of: change, for: Fixture.ben, version: .v3, includesCounts: true)
        return Rendering(renderer.tails(for: change, variant: variant), in: answers)
    }

    private func append(
        _ rendering: Rendering, to outbox: inout Outbox, at second: Int64 = 1, limit: Timestamp? = nil
    ) -> Bool {
        outbox.append(
            rendering, values: ReaderValues(reader: Fixture.ben, unread: 0, total: 0),
            stamp: Stamp(Fixture.time(second)), limit: limit,
            isTimeKnown: true)
    }

    @Test("packets of a turn are sent together, and the socket is registered for the flush once")
    func turn() {
        var outbox = Outbox(bound: 1000, answers: answers)
        #expect(outbox.needsBuffer(for: packet()))
        #expect(append(packet(), to: &outbox))
        #expect(!outbox.needsBuffer(for: packet()))
        #expect(!append(packet(), to: &outbox))
        #expect(outbox.lastCounter == 1)
        let bytes = outbox.turnBytes
        guard case .write = outbox.turnEnded(isChannelWritable: true, isClosing: false) else {
            return #expect(Bool(false), "they wait")
        }
        #expect(outbox.takePackets().readableBytes == bytes)
        #expect(outbox.turnBytes == 0 && !outbox.isWaiting)
        #expect(append(packet(), to: &outbox))
    }

    @Test("long packets follow short ones, in pieces, and other sockets take turns in between")
    func long() {
        var outbox = Outbox(bound: 1000, answers: answers)
        _ = append(packet(), to: &outbox)
        for _ in 0..<3 { _ = append(large(), to: &outbox) }
        let bytes = outbox.turnBytes
        guard case .pump = outbox.turnEnded(isChannelWritable: true, isClosing: false) else {
            return #expect(Bool(false), "it is written whole")
        }
        let growth = outbox.takeBacklogGrowth()
        #expect(outbox.waitingBytes == bytes && growth == bytes)
        let begins = [outbox.beginPumping(), outbox.beginPumping()]
        #expect(begins == [true, false])
        var sent = 0
        while let piece = outbox.nextPiece(after: sent) { sent += piece.readableBytes }
        #expect(sent >= Outbox.turnBytes && sent < bytes)
        let isNamed = [outbox.pumped(isChannelWritable: true), outbox.pumped(isChannelWritable: true)]
        #expect(isNamed == [true, false])
        outbox.endPumping()
        let afterSending = outbox.takeBacklogGrowth()
        outbox.removeAll()
        let afterEnd = outbox.takeBacklogGrowth()
        #expect(afterSending == -sent && afterEnd == sent - bytes)
        #expect(!outbox.isWaiting && answers.inUse == 0)
    }

    @Test("a client that does not read is closed at the limit, and at once when memory is exhausted")
    func bound() {
        var outbox = Outbox(bound: 1000, answers: answers)
        _ = append(large(), to: &outbox)
        guard case .pump = outbox.turnEnded(isChannelWritable: false, isClosing: false) else {
            return #expect(Bool(false), "the first is refused")
        }
        let controls = [outbox.admitsControl(900), outbox.admitsControl(101)]
        #expect(controls == [true, false])
        for _ in 0..<20 { _ = append(packet(), to: &outbox) }
        guard case .abandon = outbox.turnEnded(isChannelWritable: false, isClosing: false) else {
            return #expect(Bool(false), "there is no bound")
        }
        let full = AnswerBudget.Lease(answers, holding: 64 << 20)
        var other = Outbox(bound: 1000, answers: answers)
        _ = append(packet(), to: &other)
        guard case .abandon = other.turnEnded(isChannelWritable: false, isClosing: false) else {
            return #expect(Bool(false), "there is room")
        }
        full.settle(to: 0)
    }

    @Test("a closing socket keeps no packets of its turn")
    func closing() {
        var outbox = Outbox(bound: 1000, answers: answers)
        _ = append(large(), to: &outbox)
        guard case .pump = outbox.turnEnded(isChannelWritable: true, isClosing: true) else {
            return #expect(Bool(false), "it is written")
        }
        #expect(outbox.turnBytes == 0 && !outbox.isWaiting && answers.inUse == 0)
    }

    @Test("presence is held back during a sync request, the latest status per user")
    func held() {
        var outbox = Outbox(bound: 1000, answers: answers)
        let (busy, away) = (
            renderer.presenceChanged(Fixture.ana, to: Presence(status: .busy, lastSeenAt: nil)),
            renderer.presenceChanged(Fixture.ana, to: Presence(status: .away, lastSeenAt: nil))
        )
        var isHeld = [outbox.hold(busy, of: Fixture.ana)]
        outbox.holdPresence()
        isHeld += [outbox.hold(busy, of: Fixture.ana), outbox.hold(away, of: Fixture.ana)]
        let held = outbox.takeHeldPresence()
        isHeld.append(outbox.hold(busy, of: Fixture.ana))
        let rest = outbox.takeHeldPresence()
        #expect(isHeld == [false, true, true, false])
        #expect(held == [away] && rest.isEmpty)
    }

    @Test("no packet has a later time than a catch-up, a gap or a listening client allows, and times never decrease")
    func stamps() {
        var outbox = Outbox(bound: 1000, answers: answers)
        func shown(at second: Int64, limit: Int64? = nil) -> Timestamp {
            _ = append(packet(), to: &outbox, at: second, limit: limit.map { Fixture.time($0) })
            return outbox.lastStamp
        }
        outbox.opened(at: Fixture.time(1))
        outbox.startUnsolicited(replayableSince: Fixture.time(2))
        #expect(shown(at: 9) == Fixture.time(2))
        outbox.requestReceived()
        outbox.replayBegins(at: Fixture.time(1))
        #expect(shown(at: 9) == Fixture.time(2))
        outbox.replayReached(Fixture.time(5), limit: nil)
        #expect(shown(at: 9) == Fixture.time(5))
        outbox.replayReached(Fixture.time(7), limit: Fixture.time(6))
        #expect(shown(at: 9) == Fixture.time(6))
        outbox.caughtUp(asOf: Fixture.time(7), isReplay: true)
        #expect(outbox.sequence.start == Fixture.time(7))
        #expect(shown(at: 9, limit: 8) == Fixture.time(8))
        outbox.addPending(since: Fixture.time(3))
        outbox.addPending(since: Fixture.time(4))
        #expect(outbox.sequence.floor == Fixture.time(3))
        #expect(shown(at: 9) == Fixture.time(8))
        outbox.caughtUp(asOf: nil, isReplay: false)
        #expect(shown(at: 9) == Fixture.time(9))
    }
}
