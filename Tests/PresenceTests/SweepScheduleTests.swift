// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Presence

@Suite("When shards are looked at")
struct SweepScheduleTests {
    private let start = ContinuousClock.now

    @Test("all at first; then not before something can be due")
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

    @Test("what had work, or failed, is looked at the next time")
    func work() {
        var schedule = SweepSchedule(shards: 2, shortestPeriod: .seconds(10))
        schedule.foundNothing(at: 0, now: start, next: nil)
        schedule.foundNothing(at: 1, now: start, next: nil)
        schedule.foundWork(at: 1)
        #expect(schedule.due(at: start) == [1])
        #expect(schedule.next == nil)
    }
}
