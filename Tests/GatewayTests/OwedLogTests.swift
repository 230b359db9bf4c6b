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
        log.finish(page(metHeads: false, numbersAt: 5))
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

    /// Conversations with one change each, made at the second that is its position.
    private func crowd(_ seconds: [Int64], width: Int) -> (log: OwedLog, ids: [ConversationID]) {
        let ids = seconds.map { _ in ConversationID.random() }
        let entries = zip(ids, seconds)
            .map { id, second in
                BaselineEntry(
                    id: id, position: Position(second), after: Position(second - 1),
                    numbers: UserNumbers(uncounted: 0, hidden: 0, position: Position(second)), messageCount: 0, isParticipant: true,
                    oldestAt: Fixture.time(second))
            }
        let baseline = Baseline(entries: entries, userPosition: .zero, userAfter: .zero, asOf: Fixture.time(0), isComplete: true)
        return (OwedLog(baseline, width: width), ids)
    }

    private func cursors(_ log: inout OwedLog) -> [ConversationID: Position] {
        guard case .read(let cursors, _) = log.nextStep(joined: []) else { return [:] }
        return cursors
    }

    private func numbers(_ ids: some Sequence<ConversationID>, at position: Int64) -> [ConversationID: LogPage.Numbers] {
        let numbers = LogPage.Numbers(
            numbers: UserNumbers(uncounted: 0, hidden: 0, position: Position(position)), messageCount: 0, isParticipant: true, isListed: true)
        return Dictionary(uniqueKeysWithValues: ids.map { ($0, numbers) })
    }

    @Test("a page is looked for in as many logs as it can hold changes of, the earliest first, and each log is read once")
    func logsReadTogether() {
        let seconds = Array(Int64(1)...40).shuffled()
        var (log, ids) = crowd(seconds, width: 4)
        let order = zip(seconds, ids).sorted { $0.0 < $1.0 }.map(\.1)
        var (told, asked) = ([ConversationID](), 0)
        while !log.isEverythingRead {
            let read = cursors(&log)
            asked += read.count
            guard !read.isEmpty, read.count <= 4 else { break }
            let changes = read.map { Fixture.change($0.value.rawValue + 1, of: $0.key) }.sorted { $0.createdAt < $1.createdAt }
            let page = log.due(LogPage(entries: changes.map { .change($0) }, metHeads: true, numbers: [:]))
            for change in changes.prefix(page.entries.count) {
                told.append(change.conversationID)
                log.advance(change.conversationID, to: change.position)
            }
            log.finish(page)
        }
        #expect(told == order)
        #expect(asked == 40)
    }

    @Test("what comes after the beginning of a log that waits is not told before it")
    func horizon() {
        var (log, ids) = crowd([1, 2, 3, 4], width: 2)
        #expect(Set(cursors(&log).keys) == Set(ids[..<2]))
        let own = UserChange(
            appID: Fixture.app, user: Fixture.ben, position: Position(1), createdAt: Fixture.time(2), content: .obsolete)
        let page = LogPage(
            entries: [
                .change(Fixture.change(1, of: ids[0])), .userChange(own), .change(Fixture.change(3, of: ids[1])), .skipped(ids[1], Position(4)),
            ], metHeads: true, numbers: numbers([ids[0]], at: 1).merging(numbers([ids[1]], at: 4)) { $1 })
        let due = log.due(page)
        #expect(due.entries.count == 2)
        #expect(!due.metHeads)
        log.advance(ids[0], to: Position(1))
        log.finish(due)
        // The first has been read to where it ended, the second has not.
        let next = cursors(&log)
        #expect(next[ids[0]] == nil)
        #expect(next[ids[1]] == Position(1))
        #expect(next[ids[2]] == Position(2))
        #expect(!log.isEverythingRead)
    }

    @Test("logs that begin at the same moment are read together, however many they are")
    func sameMoment() {
        var (log, ids) = crowd([5, 5, 5, 5, 5, 9], width: 2)
        #expect(Set(cursors(&log).keys) == Set(ids[..<5]))
        let entry = LogPage.Entry.change(Fixture.change(5, of: ids[0]))
        #expect(log.due(LogPage(entries: [entry], metHeads: true, numbers: [:])).entries.count == 1)
    }
}
