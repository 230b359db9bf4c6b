// SPDX-License-Identifier: Apache-2.0
import Testing

/// Tests subscriptions, gap repair, replay and the outgoing queue of several gateways. The network loses, doubles,
/// delays and reorders; the log fails and answers late; clients disconnect, return and stop reading.
@Suite("Feeds and sockets against a faulty network", .timeLimit(.minutes(10)))
struct FeedSimulationTests {
    private static let suite = "FeedSimulationTests"

    @Test("a user who stays or reconnects receives every visible change once, in order, and no others")
    func promises() {
        Seeds.check(Seeds.chosen(10), suite: Self.suite) { FeedWorld.run($0) }
    }

    /// The defects that these seeds found, and their fixes. The seeds failed when mock shells replaced the fan-out and
    /// its registries. With the real ones a seed produces another run, so unit tests cover the rules named here as
    /// well.
    /// - 25, 69: heads could not be compared for a long time, and packets carried times from which a replay did not
    ///   contain the still unknown changes (`HeadReconciler.trust`). A gateway that was cut off for longer than the
    ///   reach of heads never learned what it had missed (`HeadReconciler.memory`).
    /// - 85: after a loss only one page of a user's own log was read (`UserFeed.repaired`).
    /// - 14, 15, 32, 134, 692: a user was added, removed and added again while the notices were lost, and received
    ///   nothing from the time between (`Membership.takeReady`).
    /// - 1298, 1365: a duplicate notice stayed in the queue, and removed a later one with it when the socket left
    ///   (`Membership.left`).
    /// - 1590, 2421: a running catch-up sent later times than the pending joins allowed (`Membership.waitingSince`).
    @Test(
        "seeds that once failed keep all promises",
        arguments: [14, 15, 25, 32, 69, 85, 134, 692, 1298, 1365, 1590, 2421] as [UInt64])
    func failedOnce(seed: UInt64) {
        Seeds.check([seed], suite: Self.suite) { FeedWorld.run($0, isPlain: true) }
    }

    /// - 781, 2040, 2451: a retried first catch-up superseded a failed replay (`CatchUpSchedule.retry`).
    @Test(
        "seeds that once failed with counts and listening clients keep all promises",
        arguments: [781, 2040, 2451] as [UInt64])
    func failedOnceWithCounts(seed: UInt64) {
        Seeds.check([seed], suite: Self.suite) { FeedWorld.run($0) }
    }

    /// - 422, and 404 without losses: a former participant learned late of a deletion that a message had followed, and
    ///   kept the counts from before it (`LoopRegistry.sendDeletion`).
    @Test(
        "seeds that once failed with conversations deleted from devices keep all promises",
        arguments: [(422, false), (404, true)] as [(UInt64, Bool)])
    func failedOnceWithDeletions(seed: UInt64, isReliable: Bool) {
        Seeds.check([seed], suite: Self.suite) { FeedWorld.run($0, isReliable: isReliable) }
    }

    /// - 85: a user who left a conversation and then deleted it received its counts after the deletion
    ///   (`ReplayPlan.hidden`).
    @Test(
        "seeds that once failed with late clients, stalled gateways and a cut Redis keep all promises",
        arguments: [85] as [UInt64])
    func failedOnceLate(seed: UInt64) {
        Seeds.check([seed], suite: Self.suite) { FeedWorld.run($0, isLate: true) }
    }

    @Test("the judge of the fault tests finds no violation while clients are late, gateways stall and Redis is cut")
    func late() {
        Seeds.check(Seeds.chosen(10), suite: Self.suite) { FeedWorld.run($0, isLate: true) }
    }

    @Test(
        "the judge of the fault tests detects a gateway that sends changes again",
        arguments: [.noSkip, .staleCatchUps] as [FeedScenario.Sabotage])
    func lateSabotage(rule: FeedScenario.Sabotage) {
        let isNoticed = (1...20)
            .contains {
                FeedWorld.run($0, sabotage: rule, isLate: true).violations.contains { $0.contains("its ledger says") }
            }
        #expect(isNoticed, "no ledger noticed \(rule.rawValue)")
    }

    @Test("reliably published changes arrive soon, without heads")
    func reliable() {
        Seeds.check(Seeds.chosen(10), suite: Self.suite) { FeedWorld.run($0, isReliable: true) }
    }

    @Test("one seed always produces the same run")
    func repeatable() {
        let (first, second) = (FeedWorld.run(12), FeedWorld.run(12))
        #expect(first.digest == second.digest)
        #expect(first.steps == second.steps)
        #expect(first.lastEvents == second.lastEvents)
    }

    private static let often: [FeedScenario.Sabotage] = [
        .noRepair, .noHeads, .noSkip, .durablesDropped, .noBound, .noFloor, .noReplayPatience, .wallClock,
    ]
    /// Rules that matter only in rare states. Each is tested in a world in which those states are frequent.
    private static let rarely: [FeedScenario.Sabotage] = [
        .noAttachRule, .noGapFloor, .noStampLimit, .staleCatchUps, .answerBeforeJoins, .earlyEntriesDropped,
        .noUnaskedStamp, .notReadAgain,
        .notShownAgain, .hiddenForgotten, .unsentForgotten, .setAsideForgotten, .noSummaries, .blocksForgotten,
    ]

    @Test("the simulation detects an omitted rule", arguments: often)
    func sabotage(rule: FeedScenario.Sabotage) {
        let isNoticed = (1...10).contains { !FeedWorld.run($0, sabotage: rule, isPlain: true).isGood }
        #expect(isNoticed, "nothing noticed \(rule.rawValue)")
    }

    @Test("the simulation detects an omitted rare rule in a world where it often matters", arguments: rarely)
    func focused(rule: FeedScenario.Sabotage) {
        let isNoticed = (1...20).contains { !FeedWorld.run($0, sabotage: rule, focused: rule).isGood }
        #expect(isNoticed, "nothing noticed \(rule.rawValue)")
    }

    @Test("a world in which a rare rule often matters has no violations while the rule is kept", arguments: rarely)
    func kept(rule: FeedScenario.Sabotage) {
        // Many worlds: with many seeds, a hundred in each.
        Seeds.check(Array(Seeds.chosen(5).prefix(100)), suite: Self.suite) { FeedWorld.run($0, focused: rule) }
    }

    @Test("deferring added conversations during a catch-up causes no violations")
    func heldBack() {
        let reports = Seeds.chosen(5).map { FeedWorld.run($0, focused: .answerBeforeJoins) }
        for report in reports where !report.isGood {
            Issue.record(Comment(rawValue: report.complaint(suite: Self.suite)))
        }
        #expect(reports.contains { $0.counts["sent ahead of what is held back", default: 0] > 0 })
    }

    @Test(
        "the simulation detects wrong and missing counts",
        arguments: [.staleNumbers, .noNumbersAfterRepair] as [FeedScenario.Sabotage])
    func countsSabotaged(rule: FeedScenario.Sabotage) {
        let isNoticed = (1...10)
            .contains { FeedWorld.run($0, sabotage: rule).violations.contains { $0.contains("is right") } }
        #expect(isNoticed, "nothing noticed \(rule.rawValue)")
    }
}
