// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

@Suite("progress of a synchronization")
struct SyncMeterTests {
    private var meter = SyncMeter()

    private func ids(_ numbers: ClosedRange<Int>) -> [ConversationID] { numbers.map { .test($0) } }

    @Test("received conversations count, of the total from the server", .proves("PROG-1"))
    mutating func pages() {
        #expect(meter.total == 0 && meter.completed == 0)
        meter.pageReceived(ids(1...2), total: 5)
        #expect(meter.total == 5 && meter.completed == 2)
        meter.pageReceived(ids(2...4), total: 5)
        #expect(meter.completed == 4)
        meter.pageReceived(ids(5...7), total: 5)
        #expect(meter.total == 7 && meter.completed == 7)
    }

    @Test("a conversation with a running history fetch counts when its messages have arrived")
    mutating func histories() {
        meter.historyNeeded(ids(1...2))
        meter.pageReceived(ids(1...2), total: nil)
        #expect(meter.total == 2 && meter.completed == 0)
        meter.historyFetched(of: .test(1))
        meter.historyFetched(of: .test(1))
        #expect(meter.completed == 1)
        meter.historyNeeded(ids(1...1))
        #expect(meter.completed == 0)
    }
}
