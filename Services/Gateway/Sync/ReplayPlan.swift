// SPDX-License-Identifier: Apache-2.0
import FanOut
import FoundationEssentials
package import StrataModel

/// What a catch-up, a replay or another one, still owes its socket: how far it is in each conversation's log, and what must be said at the end.
///
/// A pure value: it decides what to read next and when a conversation may be attached; ``CatchUp`` has it read and sent.
package struct ReplayPlan: Sendable {
    /// The counts of a conversation about which a catch-up told something; said once, at its end.
    package struct Summary: Sendable, Equatable {
        package let id: ConversationID
        /// What they are true after.
        package let position: Position
        package let unread: Int64
        package let total: Int64
    }

    /// How far the catch-up is in one conversation's log, and what it knows of the conversation.
    private struct ConversationProgress {
        /// How far its log has been read.
        struct Reading {
            var position: Position
            /// More is owed of its log, which is not read at present: what is owed begins later than what the other logs hold, or it is held back.
            var isWaiting = false
            /// It was held back once, and is not a second time.
            var wasHeldBack = false
            /// Not read since the channel was subscribed.
            var isUnverified: Bool
            var fanOutLast = Position.zero
        }

        /// What the client was shown of it.
        struct Showing {
            /// The client was shown the conversation as of this position, with these participants.
            var position = Position.zero
            var participants: Set<UserID> = []
            /// The client does not know the conversation: before anything else it is shown whole, and until then the socket is not attached.
            var isNeeded = false
            /// The user has deleted it on their devices, as the log tells, and nothing has brought it back since: they are told nothing of it.
            var isGone = false
            /// It cannot be shown at present: the rest goes on without it, and it is looked at again later.
            var isSetAside = false
        }

        var reading: Reading
        var showing = Showing()
        var numbers: UserNumbers
        var messageCount: Int64
        /// A summary of its counts is owed to the client at the end of the catch-up.
        var owesSummary = false
        /// As last read: it is on the user's list.
        var isListed = true
        /// The user is a participant, and is to be attached.
        var isMember: Bool
        var isAttached = false
        var isAttachable: Bool { isMember && !isAttached && (!showing.isNeeded || showing.isGone) }
    }

    private var conversations: [ConversationID: ConversationProgress] = [:]
    /// Position in the user's own log; nil where a catch-up does not concern it, or no longer.
    private(set) var userPosition: Position?
    /// More of the user's own log is owed.
    var userOwed = false
    private(set) var userFanOutLast = Position.zero

    private var touchedByUser: Set<ConversationID> = []
    /// What happened before is not told.
    private(set) var begin: Timestamp?

    /// Logs that are read together, about: as many as a page has entries, so that each has one on it. To look into all logs for each page would cost a user who
    /// was added to thousands of conversations the square of their number.
    package static let width = 128
    private let width: Int
    /// Conversations whose logs are read at present, since there is, or may be, more in them.
    private var reading: Set<ConversationID> = []
    /// Conversations that wait until their time has come, and when what is owed of them begins; the earliest last.
    private var waiting: [(id: ConversationID, startsAt: Timestamp)] = []

    /// Conversations that have to be shown whole, which are told behind the others, and when what is owed of them begins. Their logs wait.
    private var held: [ConversationID: Timestamp] = [:]
    /// The earliest time at which something was held back. Packets are stamped no later until it is told; nil: nothing is held back.
    private(set) var heldSince: Timestamp?
    /// Reads so far during which something was held back.
    private var heldReads = 0
    /// The most reads for which something is held back. A client that is cut off meanwhile gets these pages again, so there are few.
    static let maximumHeldReads = 64

    init() { width = Self.width }

    /// Conversations the user has just been added to. The user's own log does not concern it: what they do to these is told once they are attached.
    /// - Parameter begin: what happened before that time is no news.
    init(joined conversations: [ConversationID: Position], since begin: Timestamp? = nil) {
        self.begin = begin
        width = Self.width
        for (id, after) in conversations {
            self.conversations[id] = ConversationProgress(
                reading: .init(position: after, isUnverified: false), showing: .init(isNeeded: true),
                numbers: UserNumbers(uncounted: 0, hidden: 0, position: .zero), messageCount: 0, isMember: true)
            reading.insert(id)
        }
    }

    /// - Parameter width: logs that are read together, at least one.
    init(_ baseline: Baseline, width: Int = ReplayPlan.width) {
        self.width = width
        for entry in baseline.entries {
            let isOwed = entry.after < entry.position
            conversations[entry.id] = ConversationProgress(
                reading: .init(position: entry.after, isUnverified: !isOwed), numbers: entry.numbers,
                messageCount: entry.messageCount,
                isMember: entry.isParticipant)
            guard isOwed else { continue }
            reading.insert(entry.id)
            if let oldestAt = entry.oldestAt { waiting.append((entry.id, oldestAt)) }
        }
        holdBackCreated(baseline)
        if waiting.count > width {
            waiting.sort { $0.startsAt > $1.startsAt }
            for (id, _) in waiting { setWaiting(id) }
        } else {
            waiting = []
        }
        userPosition = baseline.userAfter
        userOwed = baseline.userAfter < baseline.userPosition
    }

    // MARK: What to read

    /// Those of which this is true, in an order that does not depend on that of the table.
    private func ids(where isWanted: (ConversationProgress) -> Bool) -> [ConversationID] {
        conversations.filter { isWanted($0.value) }.keys.sorted { $0.rawValue < $1.rawValue }
    }

    var members: [ConversationID] { ids { $0.isMember && !$0.isAttached } }
    var isEverythingRead: Bool { !userOwed && reading.isEmpty && waiting.isEmpty && held.isEmpty }
    /// The logs to read now, and after which positions. Those that wait hold nothing earlier.
    var owedCursors: [ConversationID: Position] { reading.reduce(into: [:]) { $0[$1] = position(of: $1) } }
    var memberPositions: [(id: ConversationID, position: Position)] {
        ids(where: \.isAttachable).map { ($0, position(of: $0)) }
    }

    /// Members that have not been read since their channels were subscribed; each is named once.
    mutating func takeUnverified() -> [ConversationID] {
        let ids = conversations.filter { $0.value.reading.isUnverified && $0.value.isMember }.map(\.key)
        for id in ids { conversations[id]?.reading.isUnverified = false }
        return ids
    }

    /// Those whose time has come are read with the others from now on.
    mutating func admitWaiting() {
        countHeldRead()
        guard !waiting.isEmpty else { return }
        // Some come each time: those that are read may hold nothing before the next one begins.
        var room = max(width - reading.count, (width + 3) / 4)
        while let next = waiting.last, room > 0 {
            // All that begin at the same moment come together, or else none of that moment could be told.
            while let last = waiting.last, last.startsAt == next.startsAt {
                waiting.removeLast()
                conversations[last.id]?.reading.isWaiting = false
                reading.insert(last.id)
                room -= 1
            }
        }
    }

    private mutating func setWaiting(_ id: ConversationID) {
        conversations[id]?.reading.isWaiting = true
        reading.remove(id)
    }

    /// What of a page may be told now: changes are told in the order of time, and those that wait begin before the rest.
    func due(_ page: LogPage) -> LogPage {
        guard let horizon = waiting.last?.startsAt,
            let end = page.entries.firstIndex(where: { $0.createdAt.map { $0 >= horizon } ?? false })
        else { return page }
        return LogPage(entries: Array(page.entries[..<end]), reachesHeads: false, numbers: page.numbers)
    }

    // MARK: What is held back

    /// Holds back the conversations that were created since the time asked for, if there are others to be told ahead of them.
    private mutating func holdBackCreated(_ baseline: Baseline) {
        let owed = baseline.entries.filter { $0.after < $0.position }
        guard owed.contains(where: { $0.after > .zero }) else { return }
        for entry in owed where entry.after == .zero {
            guard let oldestAt = entry.oldestAt else { continue }
            holdBack(entry.id, since: oldestAt)
        }
        waiting.removeAll { [held] in held[$0.id] != nil }
    }

    func isHeldBack(_ id: ConversationID) -> Bool { held[id] != nil }

    /// A Boolean value that indicates whether the conversation may be held back. A catch-up that joins conversations has nothing else to tell.
    func canHoldBack(_ id: ConversationID) -> Bool {
        guard begin == nil, heldReads < Self.maximumHeldReads, let progress = conversations[id] else { return false }
        return !progress.reading.wasHeldBack
    }

    /// Stops reading the conversation's log until the others have been told.
    /// - Parameter time: when the first change was made that is held back.
    mutating func holdBack(_ id: ConversationID, since time: Timestamp) {
        setWaiting(id)
        conversations[id]?.reading.wasHeldBack = true
        held[id] = time
        heldSince = min(heldSince ?? time, time)
    }

    /// A Boolean value that indicates whether other logs are being read.
    func isReading(besides ids: some Sequence<ConversationID>) -> Bool { !reading.subtracting(ids).isEmpty }

    /// From now on, everything is told in the order of time.
    mutating func releaseHeldBack() {
        guard !held.isEmpty else { return }
        waiting += held.map { ($0.key, $0.value) }
        waiting.sort { $0.startsAt > $1.startsAt }
        held = [:]
        heldSince = nil
    }

    /// What is held back is released when nothing else is owed of any conversation, or after ``maximumHeldReads``.
    private mutating func countHeldRead() {
        guard !held.isEmpty else { return }
        heldReads += 1
        if reading.isEmpty && waiting.isEmpty || heldReads > Self.maximumHeldReads { releaseHeldBack() }
    }

    // MARK: What is owed

    mutating func owe(_ ids: some Sequence<ConversationID>) {
        // One that waits is owed already.
        for id in ids where conversations[id]?.reading.isWaiting == false { reading.insert(id) }
    }

    /// The fan-out has handed on everything up to `last`: if the reading is not there yet, it must go on.
    mutating func fanOutIsAt(_ last: Position, in id: ConversationID) {
        conversations[id]?.reading.fanOutLast = last
        if position(of: id) < last { owe([id]) }
    }

    /// The same for the user's own log.
    mutating func userFanOutIsAt(_ last: Position) {
        userFanOutLast = last
        if let position = userPosition, last > position { userOwed = true }
    }

    // MARK: What was read

    func position(of id: ConversationID) -> Position { conversations[id]?.reading.position ?? .zero }

    mutating func advance(_ id: ConversationID, to position: Position) {
        guard let progress = conversations[id], position > progress.reading.position else { return }
        conversations[id]?.reading.position = position
    }

    /// An entry of the user's own log changes what the conversation is to the user: its counts are read anew, unless they come with the same page.
    mutating func concerns(_ id: ConversationID) {
        touchedByUser.insert(id)
        conversations[id]?.owesSummary = true
    }

    /// An entry of the user's own log tells the counts of a conversation that the user has left, as they are now. What was read of it before may be older.
    mutating func counted(_ view: ConversationView) {
        let id = view.conversation.id
        guard conversations[id]?.isMember == false else { return }
        conversations[id]?.numbers = view.numbers
        conversations[id]?.messageCount = view.messageCount
    }

    /// A conversation that the user has left was deleted for all: nothing of it is told any more.
    mutating func deleted(_ id: ConversationID) { conversations[id]?.isListed = false }

    mutating func advanceUser(to position: Position) { userPosition = max(userPosition ?? .zero, position) }

    mutating func finish(_ page: LogPage) {
        if page.reachesHeads { userOwed = false }
        for id in reading {
            guard let progress = conversations[id] else { continue }
            if let numbers = page.numbers[id] {
                conversations[id]?.numbers = numbers.numbers
                conversations[id]?.messageCount = numbers.messageCount
            }
            // Where it ended when the page was read: this one need not wait until all others have come so far.
            let hasReachedHead =
                page.reachesHeads || page.numbers[id].map { $0.numbers.position > .zero && progress.reading.position >= $0.numbers.position } ?? false
            // Counts or an object that are newer than what was read mean that there is more to read.
            let known =
                progress.isMember && !progress.showing.isGone ? max(page.numbers[id]?.numbers.position ?? .zero, progress.showing.position) : .zero
            if hasReachedHead, progress.reading.position >= known {
                reading.remove(id)
                concludeReading(of: id, with: page.numbers[id])
            }
        }
        owe(touchedByUser.filter { page.numbers[$0] == nil && conversations[$0]?.isMember == true })
        touchedByUser = []
    }

    /// All was read. Whatever the entries told: what the conversation is to the user now is what counts.
    /// - Parameter numbers: nil if it has been deleted for all.
    private mutating func concludeReading(of id: ConversationID, with numbers: LogPage.Numbers?) {
        conversations[id]?.isListed = numbers?.isListed ?? false
        guard let numbers else { return }
        conversations[id]?.isMember = numbers.isParticipant
        // Deleted on the user's devices, it waits for what brings it back.
        if numbers.isParticipant, conversations[id]?.showing.isNeeded == true { conversations[id]?.showing.isGone = !numbers.isListed }
    }

    /// Members whose log held nothing by which they could be shown to the client, and which are on the user's list all the same.
    var unshown: [ConversationID] {
        ids { $0.isMember && !$0.isAttached && $0.showing.isNeeded && !$0.showing.isGone && !$0.showing.isSetAside }
    }

    /// Members that the socket is not attached to because they could not be shown, and up to where their logs were read.
    var setAside: [ConversationID: Position] {
        conversations.filter { $0.value.showing.isSetAside && $0.value.isMember && !$0.value.isAttached }.mapValues(\.reading.position)
    }

    func isSetAside(_ id: ConversationID) -> Bool { conversations[id]?.showing.isSetAside ?? false }

    /// The conversation is there, and cannot be shown whatever is tried, as when it is larger than an answer may be. What is told of it would mean nothing to a
    /// client that does not know it, so that nothing is until a later catch-up shows it.
    mutating func setAside(_ id: ConversationID) {
        conversations[id]?.showing.isSetAside = true
        conversations[id]?.showing.isNeeded = true
    }

    mutating func shown(_ view: ConversationView) {
        let id = view.conversation.id
        conversations[id]?.showing.position = view.conversation.position
        conversations[id]?.showing.participants = Set(view.conversation.participants.map(\.userID))
        conversations[id]?.isMember = view.isParticipant
        conversations[id]?.showing.isNeeded = false
        conversations[id]?.showing.isSetAside = false
    }

    /// The client does not know it, or not as it is since the user came to it.
    mutating func mustBeShown(_ id: ConversationID) { conversations[id]?.showing.isNeeded = true }

    func needsShowing(_ id: ConversationID) -> Bool { conversations[id]?.showing.isNeeded ?? false }

    /// Whether what this change did to participants or metadata was contained in what the client was shown.
    func isContained(_ change: Change) -> Bool { change.position <= (conversations[change.conversationID]?.showing.position ?? .zero) }

    /// What is told of a change. Of one that is contained in what the client was shown, this: that users were added. They have read everything before, also in
    /// messages that the client has from before that, or that were read before they came. Users who have left since are removed again behind it, for clients
    /// that apply what they have already. To a user who has left, an object shows no participants, so this concerns all who were added.
    func told(_ change: Change) -> Change {
        guard isContained(change), !needsShowing(change.conversationID),
            case .participantsChanged(let added, _, _, let conversation) = change.content
        else { return change }
        var change = change
        let participants = conversations[change.conversationID]?.showing.participants ?? []
        change.content = .participantsChanged(
            added: added, removed: added.map(\.userID).filter { !participants.contains($0) }, distinctCleared: false, conversation: conversation)
        return change
    }

    /// The user has no part in it any more. If they come back, it is shown anew.
    mutating func left(_ id: ConversationID) {
        conversations[id]?.showing.isSetAside = false
        conversations[id]?.isMember = false
        conversations[id]?.showing.isNeeded = true
    }

    /// The user has deleted the conversation on their devices, and nothing has brought it back so far.
    mutating func hidden(_ id: ConversationID) {
        guard conversations[id]?.isAttached == false else { return }
        conversations[id]?.showing.isGone = true
        conversations[id]?.showing.isNeeded = true
        // The log of one that the user has left is not read again, which would tell.
        if conversations[id]?.isMember == false { conversations[id]?.isListed = false }
    }

    func isGone(_ id: ConversationID) -> Bool { conversations[id]?.showing.isGone ?? false }

    /// A message brings the conversation back; before that it has to be shown.
    mutating func returns(_ id: ConversationID) {
        conversations[id]?.showing.isGone = false
    }

    mutating func countsChanged(in id: ConversationID) { conversations[id]?.owesSummary = true }

    // MARK: What to attach and to say at the end

    var joinPoints: [JoinPoint] {
        ids(where: \.isAttachable)
            .compactMap { id in
                guard let progress = conversations[id] else { return nil }
                return JoinPoint(
                    id: id, position: progress.reading.position, fanOutLast: progress.reading.fanOutLast, numbers: progress.numbers,
                    messageCount: progress.messageCount, isHidden: !progress.isListed)
            }
    }

    /// The conversations the user has no part in, and since when at the latest.
    var leaveRecords: [ConversationID: LeaveRecord] {
        conversations.filter { !$0.value.isMember }
            .mapValues { progress in
                LeaveRecord(
                    position: progress.reading.position, seenUpTo: progress.isListed ? progress.reading.position : .zero, numbers: progress.numbers,
                    messageCount: progress.messageCount, lastMessageTold: progress.reading.position)
            }
    }

    var summaries: [ConversationID: Summary] {
        conversations.filter { $0.value.owesSummary && !$0.value.isAttached && $0.value.isListed }
            .reduce(into: [:]) { summaries, item in
                let (id, progress) = item
                summaries[id] = Summary(
                    id: id, position: progress.numbers.position, unread: progress.numbers.unread(of: progress.messageCount),
                    total: progress.numbers.total(of: progress.messageCount))
            }
    }

    /// The user's own log has moved on, so that nothing could be attached: it is read again. Nothing has been said yet either, of no conversation, also of
    /// none that the user has left.
    mutating func userRefused() {
        userOwed = true
        owe(conversations.filter { $0.value.isAttachable }.map(\.key))
    }

    /// The user's own log is told by the fan-out from now on.
    mutating func userAttached() {
        userPosition = nil
        userOwed = false
    }

    /// All but these could be attached; these have moved on and are read again.
    mutating func attached(except refused: [ConversationID]) {
        for id in conversations.keys {
            if conversations[id]?.isAttachable == true { conversations[id]?.isAttached = true }
            if conversations[id]?.isMember == false { conversations[id]?.owesSummary = false }
        }
        for id in refused {
            conversations[id]?.isAttached = false
        }
        owe(refused)
    }
}
