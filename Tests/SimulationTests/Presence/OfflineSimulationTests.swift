// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Presence

/// Tests the time limit of docs/protocol.md within which followers learn that a user is offline, under a virtual clock.
@Suite("Time until a user appears offline", .timeLimit(.minutes(10)))
struct OfflineSimulationTests {
    private static let suite = "OfflineSimulationTests"

    @Test("a user appears offline in time with the default periods", arguments: OfflineWorld.Departure.allCases)
    func promise(_ departure: OfflineWorld.Departure) {
        Seeds.check(Seeds.chosen(200), suite: Self.suite) { OfflineWorld.run($0, PresencePeriods(), departure) }
    }

    @Test(
        "longer periods violate the promise, and the simulation detects it", arguments: OfflineWorld.Departure.allCases)
    func longer(_ departure: OfflineWorld.Departure) {
        var periods = PresencePeriods()
        periods.lease = .seconds(60)
        periods.grace = .seconds(30)
        let isNoticed = (1...20 as ClosedRange<UInt64>).contains { !OfflineWorld.run($0, periods, departure).isGood }
        #expect(isNoticed)
    }

    @Test("a lease of any length is renewed before it ends", arguments: [3, 4, 27, 60, 3600])
    func renewal(seconds: Int) {
        var periods = PresencePeriods()
        periods.lease = .seconds(seconds)
        periods.grace = .seconds(1)
        // This tests against an early offline status, which only a lost renewal may cause.
        for seed in 1...20 as ClosedRange<UInt64> {
            let report = OfflineWorld.run(seed, periods, .connectionCloses)
            #expect(report.isGood, "\(report.complaint(suite: Self.suite))")
        }
    }
}
