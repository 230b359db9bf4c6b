// SPDX-License-Identifier: Apache-2.0
import Model

/// What a catch-up still owes its socket: where it stands in each conversation's log, and what must be said at the end.
///
/// A pure value: it decides what to read next and when a conversation may be attached; ``CatchUp`` does the reading and sending.
struct OwedLog {
    /// The numbers of a conversation about which a catch-up told something; said once, at its end.
    struct Summary: Sendable, Equatable {
        let id: ConversationID
        /// What they are true after.
        let position: Position
        let unread: Int64
        let total: Int64
    }

    private struct Standing {
        var position: Position
        /// There is, or may be, more in the log.
        var isOwed: Bool
        /// Nothing of it has been read yet, since what is owed of it begins later than what the other logs hold.
        var isWaiting = false
        /// Not read since the channel was subscribed.
        var isUnverified: Bool
        var fanOutLast = Position.zero
        var numbers: UserNumbers
        var messageCount: Int64
        /// As last read: it is on his list.
        var isListed = true
        /// The client was shown the conversation as of this position, with these participants.
        var shownAt = Position.zero
        var shownParticipants: Set<UserID> = []
        var isTouched = false
        /// He is a participant, and is to be attached.
        var isMember: Bool
        /// The client does not know the conversation: before anything else it is shown whole, and until then the socket is not attached.
        var needsShowing = false
        /// The user has deleted it on his devices, as the log tells, and nothing has brought it back since: he is told nothing of it.
        var isGone = false
        /// It cannot be shown at present: the rest goes on without it, and it is looked at again later.
        var isSetAside = false
        var isAttached = false
        var isAttachable: Bool { isMember && !isAttached && (!needsShowing || isGone) }
    }

    private var standings: [ConversationID: Standing] = [:]
    /// Position in the user's own log; nil where a catch-up does not concern it, or no longer.
    private(set) var userPosition: Position?
    /// More of the user's own log is owed.
    var userOwed = false
    /// What the fan-out has handed on of it.
    private(set) var userFanOutLast = Position.zero

    private var touchedByUser: Set<ConversationID> = []
    /// What happened before is not told.
    private(set) var begin: Timestamp?

    /// Logs that are read together, about: as many as a page has entries, so that each has one on it. To look into all logs for each page would cost a user who
    /// was added to thousands of conversations the square of their number.
    static let width = 128
    private let width: Int
    /// Conversations that wait until their time has come, and when what is owed of them begins; the earliest last.
    private var waiting: [(id: ConversationID, startsAt: Timestamp)] = []

    init() { width = Self.width }

    /// Conversations the user has just been added to. His own log does not concern it: what he does to these is told once they are attached.
    /// - Parameter begin: what happened before that time is no news.
    init(joined conversations: [ConversationID: Position], since begin: Timestamp? = nil) {
        self.begin = begin
        width = Self.width
        for (id, after) in conversations {
            standings[id] = Standing(
                position: after, isOwed: true, isUnverified: false, numbers: UserNumbers(uncounted: 0, hidden: 0, position: .zero),
                messageCount: 0, isMember: true, needsShowing: true)
        }
    }

    /// - Parameter width: logs that are read together, at least one.
    init(_ baseline: Baseline, width: Int = OwedLog.width) {
        self.width = width
        for entry in baseline.entries {
            let isOwed = entry.after < entry.position
            standings[entry.id] = Standing(
                position: entry.after, isOwed: isOwed, isUnverified: !isOwed, numbers: entry.numbers, messageCount: entry.messageCount,
                isMember: entry.isParticipant)
            if isOwed, let oldestAt = entry.oldestAt { waiting.append((entry.id, oldestAt)) }
        }
        if waiting.count > width {
            waiting.sort { $0.startsAt > $1.startsAt }
            for (id, _) in waiting { standings[id]?.isWaiting = true }
        } else {
            waiting = []
        }
        userPosition = baseline.userAfter
        userOwed = baseline.userAfter < baseline.userPosition
    }

    // MARK: What to read

    /// Conversations to be attached in the end.
    var members: [ConversationID] { standings.filter { $0.value.isMember && !$0.value.isAttached }.map(\.key) }
    var isEverythingRead: Bool { !userOwed && !standings.values.contains { $0.isOwed } }
    /// What is owed of these is not later than what is owed of all others.
    var owedCursors: [ConversationID: Position] { standings.filter { $0.value.isOwed && !$0.value.isWaiting }.mapValues(\.position) }
    var memberPositions: [(id: ConversationID, position: Position)] {
        standings.filter { $0.value.isAttachable }.map { ($0.key, $0.value.position) }
    }

    /// Members that have not been read since their channels were subscribed; each is named once.
    mutating func takeUnverified() -> [ConversationID] {
        let ids = standings.filter { $0.value.isUnverified && $0.value.isMember }.map(\.key)
        for id in ids { standings[id]?.isUnverified = false }
        return ids
    }

    /// Those whose time has come are read with the others from now on.
    mutating func admitWaiting() {
        guard !waiting.isEmpty else { return }
        let reading = standings.values.count { $0.isOwed && !$0.isWaiting }
        // Some come each time: those that are read may hold nothing before the next one begins.
        var room = max(width - reading, (width + 3) / 4)
        while let next = waiting.last, room > 0 {
            // All that begin at the same moment come together, or else none of that moment could be told.
            while let last = waiting.last, last.startsAt == next.startsAt {
                waiting.removeLast()
                standings[last.id]?.isWaiting = false
                room -= 1
            }
        }
    }

    /// What of a page may be told now: changes are told in the order of time, and those that wait begin before the rest.
    func due(_ page: LogPage) -> LogPage {
        guard let horizon = waiting.last?.startsAt,
            let end = page.entries.firstIndex(where: { $0.createdAt.map { $0 >= horizon } ?? false })
        else { return page }
        return LogPage(entries: Array(page.entries[..<end]), metHeads: false, numbers: page.numbers)
    }

    mutating func owe(_ ids: some Sequence<ConversationID>) {
        for id in ids { standings[id]?.isOwed = true }
    }

    /// The fan-out has handed on everything up to `last`: if the reading is not there yet, it must go on.
    mutating func fanOutIsAt(_ last: Position, in id: ConversationID) {
        standings[id]?.fanOutLast = last
        if let standing = standings[id], standing.position < last { standings[id]?.isOwed = true }
    }

    /// The same for the user's own log.
    mutating func userFanOutIsAt(_ last: Position) {
        userFanOutLast = last
        if let position = userPosition, last > position { userOwed = true }
    }

    // MARK: What was read

    func position(of id: ConversationID) -> Position { standings[id]?.position ?? .zero }

    mutating func advance(_ id: ConversationID, to position: Position) {
        guard let standing = standings[id], position > standing.position else { return }
        standings[id]?.position = position
    }

    /// An entry of the user's own log changes what the conversation is to him: its numbers are read anew, unless they come with the same page.
    mutating func concerns(_ id: ConversationID) {
        touchedByUser.insert(id)
        standings[id]?.isTouched = true
    }

    mutating func advanceUser(to position: Position) { userPosition = max(userPosition ?? .zero, position) }

    /// The page was sent.
    mutating func finish(_ page: LogPage) {
        if page.metHeads { userOwed = false }
        for (id, standing) in standings where standing.isOwed && !standing.isWaiting {
            if let numbers = page.numbers[id] {
                standings[id]?.numbers = numbers.numbers
                standings[id]?.messageCount = numbers.messageCount
            }
            // Where it ended when the page was read: this one need not wait until all others have come so far.
            let hasMetHead =
                page.metHeads || page.numbers[id].map { $0.numbers.position > .zero && standing.position >= $0.numbers.position } ?? false
            // Numbers or an object that are newer than what was read mean that there is more to read.
            let known = standing.isMember && !standing.isGone ? max(page.numbers[id]?.numbers.position ?? .zero, standing.shownAt) : .zero
            if hasMetHead, standing.position >= known {
                standings[id]?.isOwed = false
                settle(id, page.numbers[id])
            }
        }
        owe(touchedByUser.filter { page.numbers[$0] == nil && standings[$0]?.isMember == true })
        touchedByUser = []
    }

    /// All was read. Whatever the entries told: what he is to the conversation now is what counts.
    /// - Parameter numbers: nil if it has been deleted for all.
    private mutating func settle(_ id: ConversationID, _ numbers: LogPage.Numbers?) {
        standings[id]?.isListed = numbers?.isListed ?? false
        guard let numbers else { return }
        standings[id]?.isMember = numbers.isParticipant
        // Deleted on his devices, it waits for what brings it back.
        if numbers.isParticipant, standings[id]?.needsShowing == true { standings[id]?.isGone = !numbers.isListed }
    }

    /// Members whose log held nothing by which they could be shown to the client, and which are on the user's list all the same.
    var unshown: [ConversationID] {
        standings.filter { $0.value.isMember && !$0.value.isAttached && $0.value.needsShowing && !$0.value.isGone && !$0.value.isSetAside }.map(\.key)
    }

    /// Members that the socket is not attached to because they could not be shown, and up to where their logs were read.
    var setAside: [ConversationID: Position] {
        standings.filter { $0.value.isSetAside && $0.value.isMember && !$0.value.isAttached }.mapValues(\.position)
    }

    func isSetAside(_ id: ConversationID) -> Bool { standings[id]?.isSetAside ?? false }

    /// The conversation is there, and cannot be shown whatever is tried, as when it is larger than an answer may be. What is told of it would mean nothing to a
    /// client that does not know it, so that nothing is until a later catch-up shows it.
    mutating func setAside(_ id: ConversationID) {
        standings[id]?.isSetAside = true
        standings[id]?.needsShowing = true
    }

    /// The client was shown the conversation whole.
    mutating func shown(_ view: ConversationView) {
        let id = view.conversation.id
        standings[id]?.shownAt = view.conversation.position
        standings[id]?.shownParticipants = Set(view.conversation.participants.map(\.userID))
        standings[id]?.isMember = view.isParticipant
        standings[id]?.needsShowing = false
        standings[id]?.isSetAside = false
    }

    /// The client does not know it, or not as it is since he came to it.
    mutating func mustBeShown(_ id: ConversationID) { standings[id]?.needsShowing = true }

    func needsShowing(_ id: ConversationID) -> Bool { standings[id]?.needsShowing ?? false }

    /// Whether what this change did to participants or metadata was contained in what the client was shown.
    func isContained(_ change: Change) -> Bool { change.position <= (standings[change.conversationID]?.shownAt ?? .zero) }

    /// What of a change is told. Of one that was contained in what the client was shown, that users were added who are still in it: they have read everything
    /// before, also in messages that the client has from before that, or that were read before they came.
    func told(_ change: Change) -> Change {
        guard isContained(change), !needsShowing(change.conversationID),
            case .participantsChanged(let added, _, _, let conversation) = change.content
        else { return change }
        var change = change
        let participants = standings[change.conversationID]?.shownParticipants ?? []
        change.content = .participantsChanged(
            added: added.filter { participants.contains($0.userID) }, removed: [], distinctCleared: false, conversation: conversation)
        return change
    }

    /// He has no part in it any more. Should he come back, it is shown anew.
    mutating func left(_ id: ConversationID) {
        standings[id]?.isSetAside = false
        standings[id]?.isMember = false
        standings[id]?.needsShowing = true
    }

    /// The user has deleted the conversation on his devices, and nothing has brought it back so far.
    mutating func hidden(_ id: ConversationID) {
        guard standings[id]?.isAttached == false else { return }
        standings[id]?.isGone = true
        standings[id]?.needsShowing = true
    }

    func isGone(_ id: ConversationID) -> Bool { standings[id]?.isGone ?? false }

    /// A message brings the conversation back; before that it has to be shown.
    mutating func returns(_ id: ConversationID) {
        standings[id]?.isGone = false
    }

    mutating func countsChanged(in id: ConversationID) { standings[id]?.isTouched = true }

    // MARK: What to attach and to say at the end

    var attachments: [Attachment] {
        standings.compactMap { id, standing in
            guard standing.isAttachable else { return nil }
            return Attachment(
                id: id, position: standing.position, fanOutLast: standing.fanOutLast, numbers: standing.numbers,
                messageCount: standing.messageCount, isHidden: !standing.isListed)
        }
    }

    /// The conversations he has no part in, and since when at the latest.
    var departures: [ConversationID: Departure] {
        standings.filter { !$0.value.isMember }
            .mapValues { standing in
                Departure(
                    position: standing.position, seenUpTo: standing.isListed ? standing.position : .zero, numbers: standing.numbers,
                    messageCount: standing.messageCount, lastMessageTold: standing.position)
            }
    }

    var summaries: [ConversationID: Summary] {
        standings.filter { $0.value.isTouched && !$0.value.isAttached && $0.value.isListed }
            .reduce(into: [:]) { summaries, item in
                let (id, standing) = item
                summaries[id] = Summary(
                    id: id, position: standing.numbers.position, unread: standing.numbers.unread(of: standing.messageCount),
                    total: standing.numbers.total(of: standing.messageCount))
            }
    }

    /// The user's own log has moved on, so that nothing could be attached: it is read again. Nothing has been said yet either, of no conversation, also of
    /// none that the user has left.
    mutating func userRefused() {
        userOwed = true
        owe(standings.filter { $0.value.isAttachable }.map(\.key))
    }

    /// The user's own log is told by the fan-out from now on.
    mutating func userAttached() {
        userPosition = nil
        userOwed = false
    }

    /// All but these could be attached; these have moved on and are read again.
    mutating func attached(except refused: [ConversationID]) {
        for id in standings.keys {
            if standings[id]?.isAttachable == true { standings[id]?.isAttached = true }
            if standings[id]?.isMember == false { standings[id]?.isTouched = false }
        }
        for id in refused {
            standings[id]?.isAttached = false
            standings[id]?.isOwed = true
        }
    }
}
