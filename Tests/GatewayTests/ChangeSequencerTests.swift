// SPDX-License-Identifier: Apache-2.0
import SeededRandom
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

struct ChangeSequencerTests {
    private func started(at position: Int64 = 4) -> ChangeSequencer {
        var sequencer = ChangeSequencer()
        _ = sequencer.advanced(to: Position(position))
        return sequencer
    }

    private func delivered(_ outcome: ChangeSequencer.Outcome) -> [Int64]? {
        if case .deliver(let changes) = outcome { changes.map(\.position.rawValue) } else { nil }
    }

    @Test("the sequencer delivers a change that continues the sequence at once")
    func next() {
        var sequencer = started()
        #expect(delivered(sequencer.changeArrived(Fixture.change(5))) == [5])
        #expect(sequencer.last == Position(5))
        #expect(!sequencer.hasGap)
    }

    @Test("changes 5 and 6 published in the wrong order are delivered in order, when 5 has arrived")
    func swapped() {
        var sequencer = started()
        guard case .gapOpened = sequencer.changeArrived(Fixture.change(6)) else {
            return #expect(Bool(false), "the gap was not noticed")
        }
        #expect(sequencer.hasGap)
        #expect(delivered(sequencer.changeArrived(Fixture.change(5))) == [5, 6])
        #expect(!sequencer.hasGap)
    }

    @Test("a gap is announced once, however many changes arrive behind it")
    func oneGap() {
        var sequencer = started()
        guard case .gapOpened = sequencer.changeArrived(Fixture.change(6)) else {
            return #expect(Bool(false), "the gap was not noticed")
        }
        for position in Int64(7)...9 {
            guard case .nothing = sequencer.changeArrived(Fixture.change(position)) else {
                return #expect(Bool(false), "announced again")
            }
        }
        #expect(delivered(sequencer.changeArrived(Fixture.change(5))) == [5, 6, 7, 8, 9])
    }

    @Test("a delivered change is never delivered again")
    func duplicates() {
        var sequencer = started()
        _ = sequencer.changeArrived(Fixture.change(5))
        for position in [Int64(5), 4, 1] {
            guard case .nothing = sequencer.changeArrived(Fixture.change(position)) else {
                return #expect(Bool(false), "handed on twice")
            }
        }
        _ = sequencer.changeArrived(Fixture.change(7))
        _ = sequencer.changeArrived(Fixture.change(7))
        #expect(delivered(sequencer.changeArrived(Fixture.change(6))) == [6, 7])
    }

    @Test("changes before a baseline are kept, and those that the baseline contains are dropped")
    func beforeBaseline() {
        var sequencer = ChangeSequencer()
        for position in [Int64(9), 7, 8] {
            guard case .nothing = sequencer.changeArrived(Fixture.change(position)) else {
                return #expect(Bool(false), "handed on too early")
            }
        }
        #expect(!sequencer.hasGap)
        #expect(sequencer.advanced(to: Position(7)).map(\.position.rawValue) == [8, 9])
        #expect(sequencer.last == Position(9))
    }

    @Test("a baseline never moves back")
    func baselineBack() {
        var sequencer = started(at: 8)
        #expect(sequencer.advanced(to: Position(5)).isEmpty)
        #expect(sequencer.last == Position(8))
    }

    @Test(
        "any order with losses and duplicates, repaired from the log, delivers every position once and in order",
        arguments: 0..<200)
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count: Int64 = 40
        var arriving = (1...count).map { $0 }.filter { _ in Int.random(in: 0..<4, using: &random) != 0 }
        arriving += arriving.filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
        arriving.shuffle(using: &random)
        var sequencer = ChangeSequencer()
        var seen: [Int64] = []
        if Bool.random(using: &random) { seen += sequencer.advanced(to: .zero).map(\.position.rawValue) }
        for position in arriving { seen += delivered(sequencer.changeArrived(Fixture.change(position))) ?? [] }
        seen += sequencer.advanced(to: .zero).map(\.position.rawValue)
        for position in 1...count { seen += delivered(sequencer.changeArrived(Fixture.change(position))) ?? [] }
        #expect(seen == Array(1...count), "seed \(seed)")
    }

    @Test("changes kept ahead of a gap are limited in number")
    func bounded() {
        var sequencer = started(at: 0)
        for position in 2...Int64(ChangeSequencer.earlyLimit + 100) {
            _ = sequencer.changeArrived(Fixture.change(position))
        }
        #expect(delivered(sequencer.changeArrived(Fixture.change(1)))?.count == ChangeSequencer.earlyLimit + 1)
    }
}
