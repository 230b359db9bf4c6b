// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import Testing

@testable import FanOut
@testable import Sync

/// The schedule of a socket's catch-ups, which run sequentially.
struct CatchUpScheduleTests {
    private let session = CatchUpSchedule.Session(
        of: Fixture.ben, createdAt: Fixture.time(0), replayableSince: Fixture.time(0))
    private let moment = CatchUpSchedule.Moment(now: .uptimeNanoseconds(0), clock: nil, lastStamp: Fixture.time(5))
    private let present = CatchUp.End.present(CatchUp.Outcome())

    /// Returns actions as text that can be compared.
    private func words(_ actions: [CatchUpSchedule.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .limit(.openingBegins): "opening begins"
            case .limit(.replayBegins): "replay begins"
            case .limit(.pending): "owes"
            case .limit(.caughtUp): "caught up"
            case .cancel: "cancel"
            case .leaveConversations: "leave"
            case .run(_, let attempt): "run \(attempt)"
            case .answerReplay: "answer"
            case .flushPendingTyping: "typing"
            case .leftOut: "left out"
            case .retryLater: "retry later"
            case .retry: "retry"
            case .closeUnlessReplayed: "close unless replayed"
            case .closeBehind: "close"
            }
        }
    }

    private func live() -> CatchUpSchedule {
        var schedule = CatchUpSchedule(session, since: .uptimeNanoseconds(0))
        _ = schedule.requestReceived(isReplay: false, at: moment)
        schedule.willEnd(present)
        _ = schedule.ended(present, at: moment) { _ in false }
        return schedule
    }

    @Test("a conversation restored while a catch-up ends is joined by the next one and limits later times")
    func broughtBack() {
        var schedule = live()
        #expect(words(schedule.join([Fixture.conversation: .zero], at: moment) { _ in false }) == ["owes", "run 2"])
        schedule.willEnd(present)
        #expect(words(schedule.join([ConversationID.random(): .zero], at: moment) { _ in false }) == [])
        #expect(words(schedule.ended(present, at: moment) { _ in false }) == ["caught up", "owes", "run 3", "typing"])
        #expect(schedule.attempt == 3)
    }

    @Test("a replay is answered when the catch-up queued behind it limits the times")
    func replay() {
        var schedule = live()
        #expect(
            words(schedule.replay(from: Fixture.time(1), at: moment)) == ["cancel", "leave", "replay begins", "run 2"])
        #expect(
            words(schedule.added(to: Fixture.conversation, since: Position(3), known: nil, at: moment) { _ in false })
                == [])
        schedule.willEnd(present)
        #expect(
            words(schedule.ended(present, at: moment) { _ in false }) == [
                "caught up", "owes", "run 3", "answer", "typing",
            ])
    }

    @Test("a failed replay leaves the conversations that it had joined, and waits for the client to repeat it")
    func failedReplay() {
        var schedule = live()
        _ = schedule.replay(from: Fixture.time(1), at: moment)
        schedule.willEnd(.failed(.unavailable))
        #expect(
            words(schedule.ended(.failed(.unavailable), at: moment) { _ in true }) == [
                "leave", "answer", "close unless replayed",
            ])
        #expect(words(schedule.retry(at: moment) { _ in false }) == ["opening begins", "run 3"])
    }

    @Test("failed joins are repeated, and conversations that cannot be shown are retried later")
    func again() {
        var schedule = live()
        _ = schedule.join([Fixture.conversation: Position(2)], at: moment) { _ in false }
        schedule.willEnd(.failed(.unavailable))
        #expect(words(schedule.ended(.failed(.unavailable), at: moment) { _ in false }) == ["retry"])
        #expect(words(schedule.retry(at: moment) { _ in false }) == ["owes", "run 3"])
        var outcome = CatchUp.Outcome()
        outcome.setAside = [Fixture.conversation: Position(4)]
        schedule.willEnd(.present(outcome))
        #expect(
            words(schedule.ended(.present(outcome), at: moment) { _ in false }) == [
                "caught up", "left out", "retry later", "typing",
            ])
        #expect(words(schedule.retrySetAside(at: moment) { _ in false }) == ["owes", "run 4"])
    }

    @Test("an invalid replay request starts no catch-up while another one is pending")
    func refused() {
        var schedule = CatchUpSchedule(session, since: .uptimeNanoseconds(0))
        _ = schedule.requestReceived(isReplay: true, at: moment)
        #expect(words(schedule.replayRefused(at: moment)) == ["opening begins", "run 1"])
        #expect(words(schedule.replayRefused(at: moment)) == [])
    }
}
