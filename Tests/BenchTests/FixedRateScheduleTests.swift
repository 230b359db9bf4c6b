// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Bench

@Suite("schedules at a fixed rate")
struct FixedRateScheduleTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("operations are due at regular times from the start, without accumulated rounding errors")
    func dueTimes() {
        let schedule = FixedRateSchedule(start: 5, rate: 3000, seconds: 10)
        #expect(schedule.count == 30_000)
        #expect(schedule.dueTime(of: 0) == 5)
        #expect(schedule.dueTime(of: 1) == 5 + 333_333)
        #expect(schedule.dueTime(of: 29_999) == 5 + UInt64(29_999.0 * 1e9 / 3000))
        #expect(schedule.dueTime(of: 3000) == 5 + Self.second)
    }

    @Test("only operations that are due are taken, each once")
    func takes() {
        var schedule = FixedRateSchedule(start: 0, rate: 10, seconds: 1)
        #expect(schedule.takeDue(at: 0) == 0..<1)
        #expect(schedule.takeDue(at: 99_999_999).isEmpty)
        #expect(schedule.takeDue(at: 100_000_000) == 1..<2)
        #expect(schedule.nextDue == 200_000_000)
        #expect(schedule.takeDue(at: 10 * Self.second) == 2..<10)
        #expect(schedule.nextDue == nil)
        #expect(schedule.takeDue(at: 10 * Self.second).isEmpty)
    }

    @Test("after a stall, every operation that was due meanwhile is issued, with the time at which it was due")
    func omitsNothing() {
        var schedule = FixedRateSchedule(start: 0, rate: 1000, seconds: 2)
        _ = schedule.takeDue(at: 0)
        // A stall of one second. A closed loop would record one long latency; here 1,000 operations have one.
        let late = schedule.takeDue(at: Self.second)
        #expect(late == 1..<1001)
        let latencies = late.map { Self.second - schedule.dueTime(of: $0) }
        #expect(latencies.first == Self.second - 1_000_000)
        #expect(latencies.last == 0)
        #expect(latencies.count { $0 > Self.second / 2 } == 499)
    }

    @Test("a limit leaves operations due")
    func limit() {
        var schedule = FixedRateSchedule(start: 0, rate: 1000, seconds: 1)
        #expect(schedule.takeDue(at: Self.second, atMost: 64) == 0..<64)
        #expect(schedule.takeDue(at: Self.second, atMost: 64) == 64..<128)
        #expect(schedule.nextDue == 128_000_000)
    }

    @Test("a rate below one operation is a schedule without operations")
    func empty() {
        var schedule = FixedRateSchedule(start: 0, rate: 0.01, seconds: 10)
        #expect(schedule.count == 0)
        #expect(schedule.nextDue == nil)
        #expect(schedule.takeDue(at: .max).isEmpty)
    }
}
