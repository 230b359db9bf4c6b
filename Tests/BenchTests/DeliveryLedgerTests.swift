// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Bench

@Suite("ledgers of deliveries")
struct DeliveryLedgerTests {
    /// Returns the counts after deliveries of one sender that has sent five operations.
    private func counts(_ numbers: [Int], sent: Int = 5) -> DeliveryCounts {
        var ledger = DeliveryLedger(senders: 1)
        for number in numbers { ledger.receive(sender: 0, number: number) }
        return ledger.counts(sent: [sent])
    }

    @Test("everything once and in order is no problem")
    func clean() {
        let counts = counts([0, 1, 2, 3, 4])
        #expect(counts == DeliveryCounts(expected: 5, delivered: 5))
        #expect(counts.problem == nil)
    }

    @Test("a loss is counted, in the middle and at the end")
    func losses() {
        #expect(counts([0, 2, 3]) == DeliveryCounts(expected: 5, delivered: 3, lost: 2))
        #expect(counts([]) == DeliveryCounts(expected: 5, delivered: 0, lost: 5))
        #expect(counts([0, 2, 3]).problem?.contains("2 were lost") == true)
    }

    @Test("a duplicate is counted, and is no reordering")
    func duplicates() {
        #expect(counts([0, 1, 1, 2, 3, 4, 0]) == DeliveryCounts(expected: 5, delivered: 5, duplicated: 2))
    }

    @Test("a late delivery is a reordering, and no loss")
    func reorderings() {
        #expect(counts([0, 2, 1, 3, 4]) == DeliveryCounts(expected: 5, delivered: 5, reordered: 1))
        #expect(counts([4, 3, 2, 1, 0]) == DeliveryCounts(expected: 5, delivered: 5, reordered: 4))
    }

    @Test("a late delivery that comes twice is a reordering and a duplicate")
    func both() {
        #expect(counts([0, 2, 1, 1, 3, 4]) == DeliveryCounts(expected: 5, delivered: 5, duplicated: 1, reordered: 1))
    }

    @Test("senders are checked separately, and a sender without operations is expected to be silent")
    func senders() {
        var ledger = DeliveryLedger(senders: 3)
        for number in 0..<3 {
            ledger.receive(sender: 0, number: number)
            ledger.receive(sender: 2, number: number)
        }
        #expect(ledger.counts(sent: [3, 0, 4]) == DeliveryCounts(expected: 7, delivered: 6, lost: 1))
        #expect(ledger.next(from: 2) == 3)
    }

    @Test("requests over REST may overtake each other; their positions still increase")
    func unordered() {
        var ledger = DeliveryLedger(senders: 1, isOrdered: false)
        for (number, position) in [(1, 5), (0, 6), (2, 7)] as [(Int, Int64)] {
            ledger.receive(sender: 0, number: number, position: position)
        }
        #expect(ledger.counts(sent: [3]) == DeliveryCounts(expected: 3, delivered: 3))
        ledger.receive(sender: 0, number: 3, position: 7)
        #expect(ledger.counts(sent: [4]) == DeliveryCounts(expected: 4, delivered: 4, reordered: 1))
    }

    @Test("positions must increase, also between senders")
    func positions() {
        var ledger = DeliveryLedger(senders: 2)
        ledger.receive(sender: 0, number: 0, position: 7)
        ledger.receive(sender: 1, number: 0, position: 9)
        ledger.receive(sender: 0, number: 1, position: 8)
        ledger.receive(sender: 1, number: 1, position: 10)
        #expect(ledger.counts(sent: [2, 2]) == DeliveryCounts(expected: 4, delivered: 4, reordered: 1))
    }

    @Test("a delivery of an unknown sender is a problem")
    func foreign() {
        var ledger = DeliveryLedger(senders: 1)
        ledger.receive(sender: -1, number: 0)
        ledger.receive(sender: 1, number: 0)
        #expect(ledger.counts(sent: [0]) == DeliveryCounts(foreign: 2))
        #expect(ledger.counts(sent: [0]).problem != nil)
    }
}
