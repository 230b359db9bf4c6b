// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Presence

@Suite("Schedule of shard sweeps")
struct SweepScheduleTests {
    private let start = ContinuousClock.now

    @Test("all shards are swept initially, and later only when an entry can be due")
    func rest() {
        var schedule = SweepSchedule(shards: 3, shortestPeriod: .seconds(10))
        #expect(schedule.due(at: start) == [0, 1, 2])
        #expect(schedule.next == nil)
        schedule.foundNothing(at: 0, now: start, next: nil)
        schedule.foundNothing(at: 1, now: start, next: .seconds(2))
        schedule.foundNothing(at: 2, now: start, next: .seconds(8))
        #expect(schedule.next == start + .seconds(2))
        #expect(schedule.due(at: start + .milliseconds(1999)) == [])
        #expect(schedule.due(at: start + .seconds(2)) == [1])
        #expect(schedule.due(at: start + .milliseconds(4999)) == [1])
        #expect(schedule.due(at: start + .seconds(5)) == [0, 1, 2])
    }

    @Test("a shard that had work or failed is in the next sweep")
    func work() {
        var schedule = SweepSchedule(shards: 2, shortestPeriod: .seconds(10))
        schedule.foundNothing(at: 0, now: start, next: nil)
        schedule.foundNothing(at: 1, now: start, next: nil)
        schedule.foundWork(at: 1)
        #expect(schedule.due(at: start) == [1])
        #expect(schedule.next == nil)
    }
}
