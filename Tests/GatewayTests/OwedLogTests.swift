// SPDX-License-Identifier: Apache-2.0
import Model
import Testing

@testable import Gateway

struct OwedLogTests {
    private let id = Fixture.conversation

    private func baseline(position: Int64, after: Int64, isParticipant: Bool = true) -> Baseline {
        Baseline(
            entries: [
                BaselineEntry(
                    id: id, position: Position(position), after: Position(after),
                    numbers: UserNumbers(uncounted: 0, hidden: 0, position: Position(position)), messageCount: 0,
                    isParticipant: isParticipant, oldestAt: nil)
            ], userPosition: .zero, userAfter: .zero, asOf: Fixture.time(0), isComplete: true)
    }

    private func page(metHeads: Bool, numbersAt position: Int64? = nil, isParticipant: Bool = true, isListed: Bool = true) -> LogPage {
        let numbers = position.map {
            [
                id: LogPage.Numbers(
                    numbers: UserNumbers(uncounted: 1, hidden: 0, position: Position($0)), messageCount: 3, isParticipant: isParticipant,
                    isListed: isListed)
            ]
        }
        return LogPage(entries: [], metHeads: metHeads, numbers: numbers ?? [:])
    }

    @Test("what happened since is owed, and read to the heads before anything is attached")
    func owed() {
        var log = OwedLog(baseline(position: 9, after: 5))
        #expect(!log.isEverythingRead)
        #expect(log.owedCursors == [id: Position(5)])
        log.advance(id, to: Position(9))
        log.finish(page(metHeads: false))
        #expect(!log.isEverythingRead)
        log.finish(page(metHeads: true, numbersAt: 9))
        #expect(log.isEverythingRead)
        #expect(log.attachments.map(\.position) == [Position(9)])
    }

    @Test("numbers that are newer than what was read mean that there is more to read")
    func newerNumbers() {
        var log = OwedLog(baseline(position: 9, after: 5))
        log.advance(id, to: Position(9))
        log.finish(page(metHeads: true, numbersAt: 10))
        #expect(log.owedCursors == [id: Position(9)])
    }

    @Test("the counts of a conversation that the user has left are still to be said after his own log has moved on")
    func userRefused() {
        var log = OwedLog(baseline(position: 7, after: 5))
        let message = Fixture.message(1, at: 6)
        let removal = Change.Content.participantsChanged(added: [], removed: [Fixture.ben], distinctCleared: false, conversation: nil)
        for change in [Fixture.change(6, .messageCreated(id: message.id, ordinal: 1, message)), Fixture.change(7, removal)] {
            _ = log.met(change, by: Fixture.ben)
            log.advance(id, to: change.position)
        }
        log.finish(page(metHeads: true, numbersAt: 7, isParticipant: false))
        let summary = log.summaries[id]
        #expect(summary?.total == 3)
        log.userRefused()
        #expect(log.userOwed)
        #expect(log.summaries[id] == summary)
        log.attached(except: [])
        #expect(log.summaries[id] == nil)
    }

    @Test("a conversation that seems unchanged is read once more after its channel was subscribed")
    func verified() {
        var log = OwedLog(baseline(position: 9, after: 9))
        #expect(log.isEverythingRead)
        let unverified = log.takeUnverified()
        #expect(unverified == [id])
        log.owe(unverified)
        #expect(log.owedCursors == [id: Position(9)])
        log.finish(page(metHeads: true, numbersAt: 9))
        #expect(log.isEverythingRead)
        #expect(log.takeUnverified().isEmpty)
    }

    @Test("where the fan-out is ahead of the reading, the reading goes on")
    func fanOutAhead() {
        var log = OwedLog(baseline(position: 9, after: 8))
        log.advance(id, to: Position(9))
        log.finish(page(metHeads: true, numbersAt: 9))
        log.fanOutIsAt(Position(12), in: id)
        #expect(log.owedCursors == [id: Position(9)])
    }

    @Test("whoever left is not attached")
    func left() {
        var log = OwedLog(baseline(position: 9, after: 8))
        log.left(id)
        #expect(log.attachments.isEmpty)
        #expect(log.memberPositions.isEmpty)
        #expect(OwedLog(baseline(position: 9, after: 8, isParticipant: false)).attachments.isEmpty)
    }

    @Test("a conversation somebody was added to is attached only after he was shown it, and only if he is still in it")
    func joined() {
        var log = OwedLog(joined: [id: .zero])
        log.advance(id, to: Position(1))
        #expect(log.attachments.isEmpty)
        log.shown(Fixture.view(at: 1))
        log.finish(page(metHeads: true, numbersAt: 1))
        #expect(log.attachments.map(\.id) == [id])
        #expect(log.attachments.map(\.isHidden) == [false])
        log.shown(Fixture.view(at: 3, isParticipant: false))
        #expect(log.attachments.isEmpty)
    }

    @Test("where nothing was left to show, since he has deleted it on his devices, he waits for what brings it back; unless he is not in it any more")
    func nothingToShow() {
        var log = OwedLog(joined: [id: .zero])
        log.advance(id, to: Position(4))
        log.finish(page(metHeads: false, numbersAt: 4))
        #expect(log.attachments.isEmpty)
        log.finish(page(metHeads: true, numbersAt: 5))
        #expect(log.attachments.isEmpty)
        log.advance(id, to: Position(5))
        log.finish(page(metHeads: true, numbersAt: 5, isListed: false))
        #expect(log.unshown.isEmpty)
        #expect(log.attachments.map(\.isHidden) == [true])
        #expect(log.isGone(id))
        var other = OwedLog(joined: [id: .zero])
        other.advance(id, to: Position(4))
        other.finish(page(metHeads: true, numbersAt: 4, isParticipant: false))
        #expect(other.attachments.isEmpty)
        #expect(other.departures.mapValues(\.position) == [id: Position(4)])
    }

    @Test("where nothing was left to show, but he has it on his list again, it is shown before it is attached")
    func nothingToShowButListed() {
        var log = OwedLog(joined: [id: .zero])
        log.advance(id, to: Position(4))
        log.finish(page(metHeads: true, numbersAt: 4))
        #expect(log.attachments.isEmpty)
        #expect(log.unshown == [id])
        log.shown(Fixture.view(at: 4))
        #expect(log.unshown.isEmpty)
        #expect(log.attachments.map(\.isHidden) == [false])
    }

    @Test("an entry of the user's own log that changes a conversation's numbers has them read anew")
    func concerned() {
        var log = OwedLog(baseline(position: 9, after: 9))
        log.concerns(id)
        log.finish(page(metHeads: true))
        #expect(log.owedCursors == [id: Position(9)])
        log.concerns(id)
        log.finish(page(metHeads: true, numbersAt: 9))
        #expect(log.isEverythingRead)
    }

    @Test("whoever left and came back is shown the conversation anew")
    func cameBack() {
        var log = OwedLog(baseline(position: 9, after: 8))
        log.left(id)
        log.advance(id, to: Position(9))
        log.finish(page(metHeads: true, numbersAt: 9))
        #expect(log.members == [id])
        #expect(log.unshown == [id])
    }

    @Test("once the user's own log is attached, it is read no more")
    func ownLog() {
        var log = OwedLog(baseline(position: 9, after: 9))
        #expect(log.userPosition == .zero)
        log.userOwed = true
        log.userAttached()
        #expect(log.userPosition == nil)
        #expect(log.isEverythingRead)
    }

    @Test("what an object shown whole contains is not told again, and nothing is attached before its position")
    func shown() {
        var log = OwedLog(baseline(position: 9, after: 0))
        log.shown(Fixture.view(at: 6))
        #expect(log.isContained(Fixture.change(6)))
        #expect(!log.isContained(Fixture.change(7)))
        log.advance(id, to: Position(4))
        log.finish(page(metHeads: true, numbersAt: 4))
        #expect(!log.isEverythingRead)
        log.advance(id, to: Position(6))
        log.finish(page(metHeads: true, numbersAt: 6))
        #expect(log.isEverythingRead)
    }

    @Test("of participants that an object shown whole contains, those are told who were added and are still there: what came before is read for them")
    func shownWithParticipants() {
        var log = OwedLog(baseline(position: 9, after: 0))
        let (cleo, dora) = (BasicIdentity(userID: UserID(trusted: "cleo")), BasicIdentity(userID: UserID(trusted: "dora")))
        var view = Fixture.view(at: 6)
        view.conversation.participants = [BasicIdentity(userID: Fixture.ana), BasicIdentity(userID: Fixture.ben), cleo]
        log.shown(view)
        func change(_ position: Int64, added: [BasicIdentity], removed: [UserID] = []) -> Change {
            Fixture.change(position, .participantsChanged(added: added, removed: removed, distinctCleared: true, conversation: nil))
        }
        let contained = change(5, added: [cleo, dora], removed: [Fixture.ana])
        #expect(log.met(contained, by: Fixture.ben) == .change)
        guard case .participantsChanged(let added, let removed, let distinctCleared, _) = log.told(contained).content else {
            Issue.record("it is told as something else")
            return
        }
        #expect(added == [cleo] && removed == [] && !distinctCleared)
        #expect(log.met(change(5, added: [dora]), by: Fixture.ben) == .nothing)
        #expect(log.met(change(6, added: [], removed: [Fixture.ana]), by: Fixture.ben) == .nothing)
        // The user who is told may be one of them: removed and added again between the reading of the log and that of the object.
        let own = change(6, added: [BasicIdentity(userID: Fixture.ben)])
        #expect(log.met(own, by: Fixture.ben) == .change)
        #expect(log.met(Fixture.change(1, .conversationCreated(nil)), by: Fixture.ben) == .nothing)
        var unknown = log
        unknown.mustBeShown(id)
        #expect(unknown.met(own, by: Fixture.ben) == .nothing)
        let new = change(7, added: [dora], removed: [Fixture.ana])
        #expect(log.met(new, by: Fixture.ben) == .change)
        guard case .participantsChanged(let all, let gone, true, _) = log.told(new).content else {
            Issue.record("what is new is told otherwise")
            return
        }
        #expect(all == [dora] && gone == [Fixture.ana])
    }

    @Test("a refused attachment is read again, an accepted one is not")
    func refused() {
        var log = OwedLog(baseline(position: 9, after: 9))
        log.attached(except: [id])
        #expect(log.owedCursors == [id: Position(9)])
        log.finish(page(metHeads: true, numbersAt: 9))
        log.attached(except: [])
        #expect(log.attachments.isEmpty)
        #expect(log.isEverythingRead)
    }

    @Test("numbers are told once at the end, and only where they changed")
    func summaries() {
        var log = OwedLog(baseline(position: 9, after: 5))
        #expect(log.summaries.isEmpty)
        log.countsChanged(in: id)
        log.advance(id, to: Position(9))
        log.finish(page(metHeads: true, numbersAt: 9))
        #expect(log.summaries[id] == OwedLog.Summary(id: id, position: Position(9), unread: 2, total: 3))
        log.attached(except: [])
        #expect(log.summaries.isEmpty)
    }

    @Test("who left in the meantime keeps the counts they had; what was deleted for all has no numbers")
    func summariesOfTheLeft() {
        var log = OwedLog(baseline(position: 9, after: 5))
        log.countsChanged(in: id)
        log.advance(id, to: Position(9))
        log.finish(page(metHeads: true, numbersAt: 9, isParticipant: false))
        #expect(log.summaries[id]?.unread == 2)
        log.attached(except: [])
        #expect(log.summaries.isEmpty)
        var deleted = OwedLog(baseline(position: 9, after: 5))
        deleted.countsChanged(in: id)
        deleted.left(id)
        deleted.advance(id, to: Position(9))
        deleted.finish(page(metHeads: true))
        #expect(deleted.summaries.isEmpty)
    }
}
