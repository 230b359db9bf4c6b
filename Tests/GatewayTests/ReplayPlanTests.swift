// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway
@testable import Sync

struct ReplayPlanTests {
    private let id = Fixture.conversation

    private func baseline(position: Int64, after: Int64, isParticipant: Bool = true) -> Baseline {
        Baseline(
            entries: [
                BaselineEntry(
                    id: id, position: Position(position), after: Position(after),
                    counts: UserCounts(excluded: 0, hidden: 0, position: Position(position)), messageCount: 0,
                    isParticipant: isParticipant, oldestAt: nil)
            ], userPosition: .zero, userAfter: .zero, asOf: Fixture.time(0), isComplete: true)
    }

    private func page(
        reachesHeads: Bool, countsAt position: Int64? = nil, isParticipant: Bool = true, isListed: Bool = true
    ) -> LogPage {
        let counts = position.map {
            [
                id: LogPage.Counts(
                    counts: UserCounts(excluded: 1, hidden: 0, position: Position($0)), messageCount: 3,
                    isParticipant: isParticipant,
                    isListed: isListed)
            ]
        }
        return LogPage(entries: [], reachesHeads: reachesHeads, counts: counts ?? [:])
    }

    @Test("a replay plan reads later changes up to the heads before it attaches a conversation")
    func owed() {
        var plan = ReplayPlan(baseline(position: 9, after: 5))
        #expect(!plan.isEverythingRead)
        #expect(plan.pendingCursors == [id: Position(5)])
        plan.advance(id, to: Position(9))
        plan.finish(page(reachesHeads: false))
        #expect(!plan.isEverythingRead)
        plan.finish(page(reachesHeads: true, countsAt: 9))
        #expect(plan.isEverythingRead)
        #expect(plan.joinPoints.map(\.position) == [Position(9)])
    }

    @Test("counts newer than the read position mean that more changes exist")
    func newerNumbers() {
        var plan = ReplayPlan(baseline(position: 9, after: 5))
        plan.advance(id, to: Position(9))
        plan.finish(page(reachesHeads: true, countsAt: 10))
        #expect(plan.pendingCursors == [id: Position(9)])
    }

    @Test("counts of a conversation that the user has left remain pending after the own log has moved on")
    func userRefused() {
        var plan = ReplayPlan(baseline(position: 7, after: 5))
        let message = Fixture.message(1, at: 6)
        let removal = Change.Content.participantsChanged(
            added: [], removed: [Fixture.ben], distinctCleared: false, conversation: nil)
        for change in [
            Fixture.change(6, .messageCreated(id: message.id, ordinal: 1, message)), Fixture.change(7, removal),
        ] {
            _ = plan.decide(on: change, for: Fixture.ben)
            plan.advance(id, to: change.position)
        }
        plan.finish(page(reachesHeads: true, countsAt: 7, isParticipant: false))
        let summary = plan.summaries[id]
        #expect(summary?.total == 3)
        plan.userRefused()
        #expect(plan.isUserLogPending)
        #expect(plan.summaries[id] == summary)
        plan.attached(except: [])
        #expect(plan.summaries[id] == nil)
    }

    @Test("an own log entry about a left conversation supersedes the log, and a deleted one has no counts")
    func deletedAfterLeaving() {
        var plan = ReplayPlan(baseline(position: 7, after: 5))
        let message = Fixture.message(1, at: 6)
        let removal = Change.Content.participantsChanged(
            added: [], removed: [Fixture.ben], distinctCleared: false, conversation: nil)
        for change in [
            Fixture.change(6, .messageCreated(id: message.id, ordinal: 1, message)), Fixture.change(7, removal),
        ] {
            _ = plan.decide(on: change, for: Fixture.ben)
            plan.advance(id, to: change.position)
        }
        plan.finish(page(reachesHeads: true, countsAt: 7, isParticipant: false))
        var view = Fixture.view(at: 7)
        (view.isParticipant, view.messageCount) = (false, 3)
        view.counts = UserCounts(excluded: 2, hidden: 1, position: Position(7))
        plan.counted(view)
        #expect(plan.summaries[id] == ReplayPlan.Summary(id: id, position: Position(7), unread: 1, total: 2))
        #expect(plan.leaveRecords[id]?.counts == view.counts)
        plan.deleted(id)
        #expect(plan.summaries[id] == nil)
    }

    @Test("a user who deletes a conversation that they have left receives no counts of it", arguments: [true, false])
    func hiddenAfterLeaving(isDeleted: Bool) {
        var plan = ReplayPlan(baseline(position: 7, after: 7, isParticipant: false))
        plan.concerns(id)
        if isDeleted { plan.hidden(id) }
        plan.finish(page(reachesHeads: true))
        #expect((plan.summaries[id] == nil) == isDeleted)
        #expect(plan.leaveRecords[id]?.seenUpTo == (isDeleted ? .zero : Position(7)))
    }

    @Test("an unchanged conversation is not read, unless its channel was subscribed after the baseline")
    func unchanged() {
        var plan = ReplayPlan(baseline(position: 9, after: 9))
        #expect(plan.isEverythingRead)
        if case .reportPositions(let positions, _) = plan.nextStep(joined: [id]) {
            #expect(positions.map(\.id) == [id])
        } else {
            Issue.record("the conversation is not attached")
        }
        guard case .join(let new) = plan.nextStep(joined: []) else {
            Issue.record("the channel is not subscribed")
            return
        }
        #expect(new == [id])
        plan.scheduleRead(of: new)
        #expect(plan.pendingCursors == [id: Position(9)])
        plan.finish(page(reachesHeads: true, countsAt: 9))
        #expect(plan.isEverythingRead)
    }

    @Test("reading continues while the fan-out is ahead")
    func fanOutAhead() {
        var plan = ReplayPlan(baseline(position: 9, after: 8))
        plan.advance(id, to: Position(9))
        plan.finish(page(reachesHeads: true, countsAt: 9))
        plan.fanOutIsAt(Position(12), in: id)
        #expect(plan.pendingCursors == [id: Position(9)])
    }

    @Test("a conversation that the user left is not attached")
    func left() {
        var plan = ReplayPlan(baseline(position: 9, after: 8))
        plan.left(id)
        #expect(plan.joinPoints.isEmpty)
        #expect(plan.memberPositions.isEmpty)
        #expect(ReplayPlan(baseline(position: 9, after: 8, isParticipant: false)).joinPoints.isEmpty)
    }

    @Test(
        "a conversation that the user was added to is attached only after it was shown, and only to current participants"
    )
    func joined() {
        var plan = ReplayPlan(joined: [id: .zero])
        plan.advance(id, to: Position(1))
        #expect(plan.joinPoints.isEmpty)
        plan.shown(Fixture.view(at: 1))
        plan.finish(page(reachesHeads: true, countsAt: 1))
        #expect(plan.joinPoints.map(\.id) == [id])
        #expect(plan.joinPoints.map(\.isHidden) == [false])
        plan.shown(Fixture.view(at: 3, isParticipant: false))
        #expect(plan.joinPoints.isEmpty)
    }

    @Test("an empty conversation deleted from the devices waits for a restoring message, unless the user has left")
    func nothingToShow() {
        var plan = ReplayPlan(joined: [id: .zero])
        plan.advance(id, to: Position(4))
        plan.finish(page(reachesHeads: false, countsAt: 5))
        #expect(plan.joinPoints.isEmpty)
        plan.finish(page(reachesHeads: true, countsAt: 5))
        #expect(plan.joinPoints.isEmpty)
        plan.advance(id, to: Position(5))
        plan.finish(page(reachesHeads: true, countsAt: 5, isListed: false))
        #expect(plan.unshown.isEmpty)
        #expect(plan.joinPoints.map(\.isHidden) == [true])
        #expect(plan.isGone(id))
        var other = ReplayPlan(joined: [id: .zero])
        other.advance(id, to: Position(4))
        other.finish(page(reachesHeads: true, countsAt: 4, isParticipant: false))
        #expect(other.joinPoints.isEmpty)
        #expect(other.leaveRecords.mapValues(\.position) == [id: Position(4)])
    }

    @Test("an empty conversation that is listed again is shown before it is attached")
    func nothingToShowButListed() {
        var plan = ReplayPlan(joined: [id: .zero])
        plan.advance(id, to: Position(4))
        plan.finish(page(reachesHeads: true, countsAt: 4))
        #expect(plan.joinPoints.isEmpty)
        #expect(plan.unshown == [id])
        plan.shown(Fixture.view(at: 4))
        #expect(plan.unshown.isEmpty)
        #expect(plan.joinPoints.map(\.isHidden) == [false])
    }

    @Test("an own log entry that changes a conversation's counts triggers a read of these counts")
    func concerned() {
        var plan = ReplayPlan(baseline(position: 9, after: 9))
        plan.concerns(id)
        plan.finish(page(reachesHeads: true))
        #expect(plan.pendingCursors == [id: Position(9)])
        plan.concerns(id)
        plan.finish(page(reachesHeads: true, countsAt: 9))
        #expect(plan.isEverythingRead)
    }

    @Test("a user who left and rejoined is shown the conversation again")
    func cameBack() {
        var plan = ReplayPlan(baseline(position: 9, after: 8))
        plan.left(id)
        plan.advance(id, to: Position(9))
        plan.finish(page(reachesHeads: true, countsAt: 9))
        #expect(plan.members(except: []) == [id])
        #expect(plan.unshown == [id])
    }

    @Test("an attached own log is not read again")
    func ownLog() {
        var plan = ReplayPlan(baseline(position: 9, after: 9))
        #expect(plan.userPosition == .zero)
        plan.isUserLogPending = true
        plan.userAttached()
        #expect(plan.userPosition == nil)
        #expect(plan.isEverythingRead)
    }

    @Test("changes contained in a shown object are not sent again, and nothing is attached before its position")
    func shown() {
        var plan = ReplayPlan(baseline(position: 9, after: 0))
        plan.shown(Fixture.view(at: 6))
        #expect(plan.isContained(Fixture.change(6)))
        #expect(!plan.isContained(Fixture.change(7)))
        plan.advance(id, to: Position(4))
        plan.finish(page(reachesHeads: true, countsAt: 4))
        #expect(!plan.isEverythingRead)
        plan.advance(id, to: Position(6))
        plan.finish(page(reachesHeads: true, countsAt: 6))
        #expect(plan.isEverythingRead)
    }

    @Test(
        "participant additions contained in a shown object are still sent, since earlier messages become read for them")
    func shownWithParticipants() {
        var plan = ReplayPlan(baseline(position: 9, after: 0))
        let (cleo, dora) = (
            BasicIdentity(userID: UserID(trusted: "cleo")), BasicIdentity(userID: UserID(trusted: "dora"))
        )
        var view = Fixture.view(at: 6)
        view.conversation.participants = [BasicIdentity(userID: Fixture.ana), BasicIdentity(userID: Fixture.ben), cleo]
        plan.shown(view)
        func change(_ position: Int64, added: [BasicIdentity], removed: [UserID] = []) -> Change {
            Fixture.change(
                position, .participantsChanged(added: added, removed: removed, distinctCleared: true, conversation: nil)
            )
        }
        let contained = change(5, added: [cleo, dora], removed: [Fixture.ana])
        #expect(plan.decide(on: contained, for: Fixture.ben) == .change)
        #expect(
            participantUpdate(of: contained, in: plan)
                == ParticipantUpdate(added: [cleo, dora], removed: [dora.userID]))
        #expect(participantUpdate(of: change(5, added: [cleo]), in: plan) == ParticipantUpdate(added: [cleo]))
        #expect(plan.decide(on: change(5, added: [dora]), for: Fixture.ben) == .change)
        #expect(plan.decide(on: change(6, added: [], removed: [Fixture.ana]), for: Fixture.ben) == .nothing)
        // The recipient may be the added user: removed and added again between reading the log and reading the object.
        let own = change(6, added: [BasicIdentity(userID: Fixture.ben)])
        #expect(plan.decide(on: own, for: Fixture.ben) == .change)
        #expect(plan.decide(on: Fixture.change(1, .conversationCreated(nil)), for: Fixture.ben) == .nothing)
        var unknown = plan
        unknown.mustBeShown(id)
        #expect(unknown.decide(on: own, for: Fixture.ben) == .nothing)
        let new = change(7, added: [dora], removed: [Fixture.ana])
        #expect(plan.decide(on: new, for: Fixture.ben) == .change)
        #expect(
            participantUpdate(of: new, in: plan)
                == ParticipantUpdate(added: [dora], removed: [Fixture.ana], distinctCleared: true))
    }

    @Test("a user who has left receives the additions of the change that removed them")
    func leftByAnAddition() {
        var plan = ReplayPlan(baseline(position: 9, after: 0))
        let cleo = BasicIdentity(userID: UserID(trusted: "cleo"))
        var view = Fixture.view(at: 6, isParticipant: false)
        view.conversation.participants = []
        plan.shown(view)
        let last = Fixture.change(
            6, .participantsChanged(added: [cleo], removed: [Fixture.ben], distinctCleared: false, conversation: nil))
        #expect(plan.decide(on: last, for: Fixture.ben) == .change)
        #expect(participantUpdate(of: last, in: plan) == ParticipantUpdate(added: [cleo], removed: [cleo.userID]))
    }

    private struct ParticipantUpdate: Equatable {
        var added: [BasicIdentity] = []
        var removed: [UserID] = []
        var distinctCleared = false
    }

    private func participantUpdate(of change: Change, in plan: ReplayPlan) -> ParticipantUpdate? {
        guard
            case .participantsChanged(let added, let removed, let distinctCleared, _) = plan.visiblePart(of: change)
                .content
        else { return nil }
        return ParticipantUpdate(added: added, removed: removed, distinctCleared: distinctCleared)
    }

    @Test("a refused join point is read again, an accepted one is not")
    func refused() {
        var plan = ReplayPlan(baseline(position: 9, after: 9))
        plan.attached(except: [id])
        #expect(plan.pendingCursors == [id: Position(9)])
        plan.finish(page(reachesHeads: true, countsAt: 9))
        plan.attached(except: [])
        #expect(plan.joinPoints.isEmpty)
        #expect(plan.isEverythingRead)
    }

    @Test("counts are sent once at the end, and only if they changed")
    func summaries() {
        var plan = ReplayPlan(baseline(position: 9, after: 5))
        #expect(plan.summaries.isEmpty)
        plan.countsChanged(in: id)
        plan.advance(id, to: Position(9))
        plan.finish(page(reachesHeads: true, countsAt: 9))
        #expect(plan.summaries[id] == ReplayPlan.Summary(id: id, position: Position(9), unread: 2, total: 3))
        plan.attached(except: [])
        #expect(plan.summaries.isEmpty)
    }

    @Test("a user who left meanwhile keeps their counts; a conversation deleted for all has none")
    func summariesOfTheLeft() {
        var plan = ReplayPlan(baseline(position: 9, after: 5))
        plan.countsChanged(in: id)
        plan.advance(id, to: Position(9))
        plan.finish(page(reachesHeads: true, countsAt: 9, isParticipant: false))
        #expect(plan.summaries[id]?.unread == 2)
        plan.attached(except: [])
        #expect(plan.summaries.isEmpty)
        var deleted = ReplayPlan(baseline(position: 9, after: 5))
        deleted.countsChanged(in: id)
        deleted.left(id)
        deleted.advance(id, to: Position(9))
        deleted.finish(page(reachesHeads: true))
        #expect(deleted.summaries.isEmpty)
    }

    /// Returns a plan for conversations with one change each. A change's position is also its time in seconds.
    private func crowd(_ seconds: [Int64], width: Int) -> (plan: ReplayPlan, ids: [ConversationID]) {
        let ids = seconds.map { _ in ConversationID.random() }
        return (ReplayPlan(baseline(of: ids, seconds), widths: width...width), ids)
    }

    private func baseline(of ids: [ConversationID], _ seconds: [Int64]) -> Baseline {
        let entries = zip(ids, seconds)
            .map { id, second in
                BaselineEntry(
                    id: id, position: Position(second), after: Position(second - 1),
                    counts: UserCounts(excluded: 0, hidden: 0, position: Position(second)), messageCount: 0,
                    isParticipant: true,
                    oldestAt: Fixture.time(second))
            }
        return Baseline(
            entries: entries, userPosition: .zero, userAfter: .zero, asOf: Fixture.time(0), isComplete: true)
    }

    private func cursors(_ plan: inout ReplayPlan) -> [ConversationID: Position] {
        guard case .read(let cursors, _) = plan.nextStep(joined: []) else { return [:] }
        return cursors
    }

    private func counts(_ ids: some Sequence<ConversationID>, at position: Int64) -> [ConversationID: LogPage.Counts] {
        let counts = LogPage.Counts(
            counts: UserCounts(excluded: 0, hidden: 0, position: Position(position)), messageCount: 0,
            isParticipant: true, isListed: true)
        return Dictionary(uniqueKeysWithValues: ids.map { ($0, counts) })
    }

    @Test("a log whose next change is later is not read again before the logs that begin earlier")
    func laterChanges() {
        // Each conversation has a change at the beginning and one after the beginnings of all.
        var (plan, ids) = crowd(Array(2...41), width: 4)
        let places = Dictionary(uniqueKeysWithValues: zip(ids, Int64(2)...))
        var (sent, asked) = ([Int64](), 0)
        for _ in 0..<200 where !plan.isEverythingRead {
            let read = cursors(&plan)
            asked += read.count
            var changes: [Change] = []
            for (id, after) in read {
                guard let first = places[id] else { continue }
                for position in [first, first + 100] where position > after.rawValue {
                    changes.append(Fixture.change(position, of: id))
                }
            }
            changes.sort { $0.createdAt < $1.createdAt }
            let page = LogPage(
                entries: changes.map { .change($0) }, reachesHeads: true, counts: counts(read.keys, at: 0))
            let due = plan.due(page)
            plan.wait(for: page)
            for case .change(let change) in due.entries {
                plan.advance(change.conversationID, to: change.position)
                sent.append(change.position.rawValue)
            }
            plan.finish(due)
        }
        #expect(sent == Array(2...41) + Array(102...141))
        #expect(asked <= 3 * 40)
    }

    @Test("a page reads as many logs as its capacity, earliest first, and each log once")
    func logsReadTogether() {
        let seconds = Array(Int64(2)...41).shuffled()
        var (plan, ids) = crowd(seconds, width: 4)
        let order = zip(seconds, ids).sorted { $0.0 < $1.0 }.map(\.1)
        var (told, asked) = ([ConversationID](), 0)
        while !plan.isEverythingRead {
            let read = cursors(&plan)
            asked += read.count
            guard !read.isEmpty, read.count <= 4 else { break }
            let changes = read.map { Fixture.change($0.value.rawValue + 1, of: $0.key) }
                .sorted { $0.createdAt < $1.createdAt }
            let page = plan.due(LogPage(entries: changes.map { .change($0) }, reachesHeads: true, counts: [:]))
            for change in changes.prefix(page.entries.count) {
                told.append(change.conversationID)
                plan.advance(change.conversationID, to: change.position)
            }
            plan.finish(page)
        }
        #expect(told == order)
        #expect(asked == 40)
    }

    @Test(
        "about half of the logs are read together, within bounds", arguments: [(40, 20), (100, 30), (5, 4), (3, 3)])
    func widths(all: Int64, expected: Int) {
        let seconds = Array(2..<all + 2)
        var plan = ReplayPlan(baseline(of: seconds.map { _ in .random() }, seconds), widths: 4...30)
        #expect(cursors(&plan).count == expected)
    }

    @Test("changes later than the start of a waiting log are not sent before it")
    func horizon() {
        var (plan, ids) = crowd([2, 3, 4, 5], width: 2)
        #expect(Set(cursors(&plan).keys) == Set(ids[..<2]))
        let own = UserChange(
            appID: Fixture.app, user: Fixture.ben, position: Position(1), createdAt: Fixture.time(3), content: .obsolete
        )
        let page = LogPage(
            entries: [
                .change(Fixture.change(2, of: ids[0])), .userChange(own), .change(Fixture.change(4, of: ids[1])),
                .skipped(ids[1], Position(5)),
            ], reachesHeads: true, counts: counts([ids[0]], at: 2).merging(counts([ids[1]], at: 5)) { $1 })
        let due = plan.due(page)
        #expect(due.entries.count == 2)
        #expect(!due.reachesHeads)
        plan.advance(ids[0], to: Position(2))
        plan.finish(due)
        // The first log has been read to its end, the second has not.
        let next = cursors(&plan)
        #expect(next[ids[0]] == nil)
        #expect(next[ids[1]] == Position(2))
        #expect(next[ids[2]] == Position(3))
        #expect(!plan.isEverythingRead)
    }

    @Test("logs that start at the same time are read together, for any number")
    func sameMoment() {
        var (plan, ids) = crowd([5, 5, 5, 5, 5, 9], width: 2)
        #expect(Set(cursors(&plan).keys) == Set(ids[..<5]))
        let entry = LogPage.Entry.change(Fixture.change(5, of: ids[0]))
        #expect(plan.due(LogPage(entries: [entry], reachesHeads: true, counts: [:])).entries.count == 1)
    }
}
