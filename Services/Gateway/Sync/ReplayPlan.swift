// SPDX-License-Identifier: Apache-2.0
import FanOut
import FoundationEssentials
package import StrataModel

/// The remaining work of a catch-up: the read position in each conversation's log, and the data to send at the end.
///
/// A pure value. It decides what to read next and when a conversation may be attached. ``CatchUp`` requests the reads
/// and sends the results.
package struct ReplayPlan: Sendable {
    /// The counts of a conversation that a catch-up sent changes of; sent once, at the end of the catch-up.
    package struct Summary: Sendable, Equatable {
        package let id: ConversationID
        /// The position of the last change that the counts include.
        package let position: Position
        package let unread: Int64
        package let total: Int64
    }

    /// The state of one conversation within the catch-up.
    private struct ConversationProgress {
        /// The progress in the conversation's log.
        struct Reading {
            var position: Position
            /// True if the log has more changes but is not read at present: they begin later than those of the other
            /// logs, or the conversation is deferred.
            var isWaiting = false
            /// True if the conversation has been deferred once. It is not deferred a second time.
            var wasDeferred = false
            var fanOutLast = Position.zero
        }

        /// The conversation's state as the client was sent it.
        struct Showing {
            /// The position of the last full view that the client was sent, with the participants in that view.
            var position = Position.zero
            var participants: Set<UserID> = []
            /// True if the client does not know the conversation. The conversation must be sent in full first; until
            /// then the socket is not attached.
            var isNeeded = false
            /// True if, according to the log, the user deleted the conversation from their devices and nothing has
            /// brought it back since. The client is sent nothing about it.
            var isGone = false
            /// True if the conversation cannot be sent at present. The catch-up continues without it, and it is retried
            /// later.
            var isSetAside = false
        }

        var reading: Reading
        var showing = Showing()
        var counts: UserCounts
        var messageCount: Int64
        /// True if a summary of the counts is pending for the end of the catch-up.
        var isSummaryPending = false
        /// True if the conversation was on the user's list when it was last read.
        var isListed = true
        /// True if the user is a participant, so that the socket is to be attached.
        var isMember: Bool
        var isAttached = false
        var isAttachable: Bool { isMember && !isAttached && (!showing.isNeeded || showing.isGone) }
    }

    private var conversations: [ConversationID: ConversationProgress] = [:]
    /// The position in the user's own log. Nil if the catch-up does not read that log, or no longer.
    private(set) var userPosition: Position?
    /// True if the user's own log has more entries to send.
    var isUserLogPending = false
    private(set) var userFanOutLast = Position.zero

    private var touchedByUser: Set<ConversationID> = []
    /// The time before which changes are not sent.
    private(set) var begin: Timestamp?

    /// The bounds of the number of logs that are read together: about half of those that are left. It equals the
    /// number of entries of a page, so that each log can have one entry on it. Reading all logs for each page would
    /// cost quadratic time for a user who was added to thousands of conversations; with few, most entries of a page
    /// would be later than a waiting log. The upper bound is that of a page.
    package static let widths = 128...1000
    private let widths: ClosedRange<Int>
    /// Conversations whose logs are being read, because they have, or may have, more changes.
    private var reading: Set<ConversationID> = []
    /// Conversations whose logs are read later, with the time of their first unsent change. The earliest is last.
    private var waiting: [(id: ConversationID, startsAt: Timestamp)] = []

    /// Deferred conversations, with the time of their first unsent change. They must be sent in full and are sent after
    /// the others; their logs are not read meanwhile.
    private var deferred: [ConversationID: Timestamp] = [:]
    /// The time of the earliest deferred change, which limits the times on packets. Nil if nothing is deferred.
    private(set) var deferredSince: Timestamp?
    /// The number of reads so far while a conversation was deferred.
    private var deferredReads = 0
    /// The maximum number of reads while a conversation is deferred. It is small because a client that is disconnected
    /// meanwhile receives these pages again.
    static let maximumDeferredReads = 64

    init() { widths = Self.widths }

    /// Creates a plan for conversations that the user was just added to. It does not read the user's own log: entries
    /// that concern these conversations are sent once they are attached.
    /// - Parameter begin: the time before which changes are not sent.
    init(joined conversations: [ConversationID: Position], since begin: Timestamp? = nil) {
        self.begin = begin
        widths = Self.widths
        for (id, after) in conversations {
            self.conversations[id] = ConversationProgress(
                reading: .init(position: after), showing: .init(isNeeded: true),
                counts: UserCounts(excluded: 0, hidden: 0, position: .zero), messageCount: 0, isMember: true)
            reading.insert(id)
        }
    }

    /// - Parameter widths: the bounds of the number of logs that are read together, at least one.
    init(_ baseline: Baseline, widths: ClosedRange<Int> = ReplayPlan.widths) {
        self.widths = widths
        for entry in baseline.entries {
            conversations[entry.id] = ConversationProgress(
                reading: .init(position: entry.after), counts: entry.counts, messageCount: entry.messageCount,
                isMember: entry.isParticipant)
            guard entry.after < entry.position else { continue }
            reading.insert(entry.id)
            if let oldestAt = entry.oldestAt { waiting.append((entry.id, oldestAt)) }
        }
        deferCreated(baseline)
        if waiting.count > width(for: waiting.count) {
            waiting.sort { $0.startsAt > $1.startsAt }
            for (id, _) in waiting { setWaiting(id) }
        } else {
            waiting = []
        }
        userPosition = baseline.userAfter
        isUserLogPending = baseline.userAfter < baseline.userPosition
    }

    // MARK: Logs to read

    /// Returns the conversations that match, sorted, so that the result does not depend on the dictionary's order.
    private func ids(
        except left: Set<ConversationID> = [], where isWanted: (ConversationProgress) -> Bool
    ) -> [ConversationID] {
        conversations.compactMap { isWanted($0.value) && !left.contains($0.key) ? $0.key : nil }
            .sorted { $0.rawValue < $1.rawValue }
    }

    /// Returns the conversations to attach, apart from those in the set.
    func members(except joined: Set<ConversationID>) -> [ConversationID] {
        ids(except: joined) { $0.isMember && !$0.isAttached }
    }
    var isEverythingRead: Bool { !isUserLogPending && reading.isEmpty && waiting.isEmpty && deferred.isEmpty }
    /// The logs to read now, with the positions to read after. Waiting logs hold nothing earlier.
    var pendingCursors: [ConversationID: Position] { reading.reduce(into: [:]) { $0[$1] = position(of: $1) } }
    var memberPositions: [(id: ConversationID, position: Position)] {
        ids(where: \.isAttachable).map { ($0, position(of: $0)) }
    }

    /// Starts reading the waiting logs whose time has come.
    mutating func admitWaiting() {
        countDeferredRead()
        guard !waiting.isEmpty else { return }
        // Admit some logs on each call: the logs that are being read may hold nothing before the next waiting one
        // begins.
        let width = width(for: reading.count + waiting.count)
        var room = max(width - reading.count, (width + 3) / 4)
        while let next = waiting.last, room > 0 {
            // Admit all logs that begin at the same time together. Otherwise no change of that time could be sent.
            while let last = waiting.last, last.startsAt == next.startsAt {
                waiting.removeLast()
                conversations[last.id]?.reading.isWaiting = false
                reading.insert(last.id)
                room -= 1
            }
        }
    }

    private func width(for left: Int) -> Int { min(max(left / 2, widths.lowerBound), widths.upperBound) }

    private mutating func setWaiting(_ id: ConversationID) {
        conversations[id]?.reading.isWaiting = true
        reading.remove(id)
    }

    /// Returns the entries of a page that may be sent now. Changes are sent in the order of time, so entries at or
    /// after the start of a waiting log are left out.
    func due(_ page: LogPage) -> LogPage {
        guard let horizon = waiting.last?.startsAt,
            let end = page.entries.firstIndex(where: { $0.createdAt.map { $0 >= horizon } ?? false })
        else { return page }
        return LogPage(entries: Array(page.entries[..<end]), reachesHeads: false, counts: page.counts)
    }

    /// Stops reading the logs whose next entry on the page is not ``due(_:)``, until the time of that entry. Reading
    /// them for each further page would cost quadratic time for thousands of conversations with changes at different
    /// times.
    mutating func wait(for page: LogPage) {
        guard let horizon = waiting.last?.startsAt else { return }
        var later: [ConversationID: Timestamp] = [:]
        for case .change(let change) in page.entries where change.createdAt >= horizon {
            let id = change.conversationID
            if later[id] == nil, reading.contains(id) { later[id] = change.createdAt }
        }
        guard !later.isEmpty else { return }
        for id in later.keys { setWaiting(id) }
        waiting += later.map { ($0.key, $0.value) }
        waiting.sort { $0.startsAt > $1.startsAt }
    }

    // MARK: Deferred conversations

    /// Defers the conversations that were created since the requested time, if there are others to send before them.
    private mutating func deferCreated(_ baseline: Baseline) {
        let pending = baseline.entries.filter { $0.after < $0.position }
        guard pending.contains(where: { $0.after > .zero }) else { return }
        for entry in pending where entry.after == .zero {
            guard let oldestAt = entry.oldestAt else { continue }
            deferConversation(entry.id, since: oldestAt)
        }
        waiting.removeAll { [deferred] in deferred[$0.id] != nil }
    }

    func isDeferred(_ id: ConversationID) -> Bool { deferred[id] != nil }

    /// A Boolean value that indicates whether the conversation may be deferred. A catch-up that joins conversations has
    /// nothing else to send.
    func canDefer(_ id: ConversationID) -> Bool {
        guard begin == nil, deferredReads < Self.maximumDeferredReads, let progress = conversations[id] else {
            return false
        }
        return !progress.reading.wasDeferred
    }

    /// Stops reading the conversation's log until the others have been sent.
    /// - Parameter time: the time of the first deferred change.
    mutating func deferConversation(_ id: ConversationID, since time: Timestamp) {
        setWaiting(id)
        conversations[id]?.reading.wasDeferred = true
        deferred[id] = time
        deferredSince = min(deferredSince ?? time, time)
    }

    func isReading(besides ids: some Sequence<ConversationID>) -> Bool { !reading.subtracting(ids).isEmpty }

    /// Releases all deferred conversations. From then on, changes are sent in the order of time.
    mutating func releaseDeferred() {
        guard !deferred.isEmpty else { return }
        waiting += deferred.map { ($0.key, $0.value) }
        waiting.sort { $0.startsAt > $1.startsAt }
        deferred = [:]
        deferredSince = nil
    }

    /// Counts a read. Releases deferred conversations when no other conversation has anything left to send, or after
    /// ``maximumDeferredReads``.
    private mutating func countDeferredRead() {
        guard !deferred.isEmpty else { return }
        deferredReads += 1
        if reading.isEmpty && waiting.isEmpty || deferredReads > Self.maximumDeferredReads { releaseDeferred() }
    }

    // MARK: Scheduling reads

    mutating func scheduleRead(of ids: some Sequence<ConversationID>) {
        // A waiting log is already scheduled.
        for id in ids where conversations[id]?.reading.isWaiting == false { reading.insert(id) }
    }

    /// Records that the fan-out has handed on all changes up to `last`. If the log has not been read that far, it is
    /// read again.
    mutating func fanOutIsAt(_ last: Position, in id: ConversationID) {
        conversations[id]?.reading.fanOutLast = last
        if position(of: id) < last { scheduleRead(of: [id]) }
    }

    /// Records the fan-out's position in the user's own log. If that log has not been read that far, it is read again.
    mutating func userFanOutIsAt(_ last: Position) {
        userFanOutLast = last
        if let position = userPosition, last > position { isUserLogPending = true }
    }

    // MARK: Read positions and shown state

    func position(of id: ConversationID) -> Position { conversations[id]?.reading.position ?? .zero }

    mutating func advance(_ id: ConversationID, to position: Position) {
        guard let progress = conversations[id], position > progress.reading.position else { return }
        conversations[id]?.reading.position = position
    }

    /// Records that an entry of the user's own log changes the user's relation to the conversation. Its counts are read
    /// again, unless the same page contains them.
    mutating func concerns(_ id: ConversationID) {
        touchedByUser.insert(id)
        conversations[id]?.isSummaryPending = true
    }

    /// Records the current counts of a conversation that the user has left, from an entry of the user's own log. Counts
    /// read earlier may be older.
    mutating func counted(_ view: ConversationView) {
        let id = view.conversation.id
        guard conversations[id]?.isMember == false else { return }
        conversations[id]?.counts = view.counts
        conversations[id]?.messageCount = view.messageCount
    }

    /// Records that a conversation that the user has left was deleted for all participants. Nothing more is sent about
    /// it.
    mutating func deleted(_ id: ConversationID) { conversations[id]?.isListed = false }

    mutating func advanceUser(to position: Position) { userPosition = max(userPosition ?? .zero, position) }

    /// Applies the counts of a page whose entries have been sent, and ends the reading of logs that have been read to
    /// their ends.
    mutating func finish(_ page: LogPage) {
        if page.reachesHeads { isUserLogPending = false }
        for id in reading {
            guard let progress = conversations[id] else { continue }
            if let counts = page.counts[id] {
                conversations[id]?.counts = counts.counts
                conversations[id]?.messageCount = counts.messageCount
            }
            // The end of this log when the page was read. The conversation need not wait until all other logs have been
            // read.
            let hasReachedHead =
                page.reachesHeads
                || page.counts[id].map { $0.counts.position > .zero && progress.reading.position >= $0.counts.position }
                    ?? false
            // If the counts or the object are newer than the entries read so far, there is more to read.
            let known =
                progress.isMember && !progress.showing.isGone
                ? max(page.counts[id]?.counts.position ?? .zero, progress.showing.position) : .zero
            if hasReachedHead, progress.reading.position >= known {
                reading.remove(id)
                concludeReading(of: id, with: page.counts[id])
            }
        }
        scheduleRead(of: touchedByUser.filter { page.counts[$0] == nil && conversations[$0]?.isMember == true })
        touchedByUser = []
    }

    /// Applies the conversation's current state for the user at the end of its log. It overrides what the entries said.
    /// - Parameter counts: nil if the conversation has been deleted for all participants.
    private mutating func concludeReading(of id: ConversationID, with counts: LogPage.Counts?) {
        conversations[id]?.isListed = counts?.isListed ?? false
        guard let counts else { return }
        conversations[id]?.isMember = counts.isParticipant
        // The conversation is deleted on the user's devices. It waits for a change that brings it back.
        if counts.isParticipant, conversations[id]?.showing.isNeeded == true {
            conversations[id]?.showing.isGone = !counts.isListed
        }
    }

    /// Members that are on the user's list although no change in their log caused them to be sent in full.
    var unshown: [ConversationID] {
        ids { $0.isMember && !$0.isAttached && $0.showing.isNeeded && !$0.showing.isGone && !$0.showing.isSetAside }
    }

    /// Members that could not be sent, so that the socket is not attached to them, with the positions up to which their
    /// logs were read.
    var setAside: [ConversationID: Position] {
        conversations.filter { $0.value.showing.isSetAside && $0.value.isMember && !$0.value.isAttached }
            .mapValues(\.reading.position)
    }

    func isSetAside(_ id: ConversationID) -> Bool { conversations[id]?.showing.isSetAside ?? false }

    /// Records that the conversation exists and cannot be sent, for example because it exceeds the size limit of an
    /// answer. Changes would mean nothing to a client that does not know the conversation. They are not sent until a
    /// later catch-up sends the conversation.
    mutating func setAside(_ id: ConversationID) {
        conversations[id]?.showing.isSetAside = true
        conversations[id]?.showing.isNeeded = true
    }

    /// Records that the client was sent the conversation in this state.
    mutating func shown(_ view: ConversationView) {
        let id = view.conversation.id
        conversations[id]?.showing.position = view.conversation.position
        conversations[id]?.showing.participants = Set(view.conversation.participants.map(\.userID))
        conversations[id]?.isMember = view.isParticipant
        conversations[id]?.showing.isNeeded = false
        conversations[id]?.showing.isSetAside = false
    }

    /// Records that the client does not know the conversation, or only from before the user was added to it.
    mutating func mustBeShown(_ id: ConversationID) { conversations[id]?.showing.isNeeded = true }

    func needsShowing(_ id: ConversationID) -> Bool { conversations[id]?.showing.isNeeded ?? false }

    /// A Boolean value that indicates whether the participants or metadata that this change wrote are contained in the
    /// view that the client was sent.
    func isContained(_ change: Change) -> Bool {
        change.position <= (conversations[change.conversationID]?.showing.position ?? .zero)
    }

    /// Returns the part of a change to send. If the client's view of the conversation contains the change, only the
    /// addition of users is sent:
    /// - Added users count as having read all earlier messages, including those that the client already has.
    /// - Users who have left since are removed again in the same change, for clients that apply the packet to what they
    ///   have.
    /// - A user who has left is sent an object without participants, so this applies to all added users.
    func visiblePart(of change: Change) -> Change {
        guard isContained(change), !needsShowing(change.conversationID),
            case .participantsChanged(let added, _, _, let conversation) = change.content
        else { return change }
        var change = change
        let participants = conversations[change.conversationID]?.showing.participants ?? []
        change.content = .participantsChanged(
            added: added, removed: added.map(\.userID).filter { !participants.contains($0) }, distinctCleared: false,
            conversation: conversation)
        return change
    }

    /// Records that the user no longer participates. If the user comes back, the conversation is sent in full again.
    mutating func left(_ id: ConversationID) {
        conversations[id]?.showing.isSetAside = false
        conversations[id]?.isMember = false
        conversations[id]?.showing.isNeeded = true
    }

    /// Records that the user deleted the conversation from their devices and nothing has brought it back so far.
    mutating func hidden(_ id: ConversationID) {
        guard conversations[id]?.isAttached == false else { return }
        conversations[id]?.showing.isGone = true
        conversations[id]?.showing.isNeeded = true
        // The log of a conversation that the user has left is not read again, so the list state is set here.
        if conversations[id]?.isMember == false { conversations[id]?.isListed = false }
    }

    func isGone(_ id: ConversationID) -> Bool { conversations[id]?.showing.isGone ?? false }

    /// Records that a message brings the conversation back. It has to be sent in full before that message.
    mutating func returns(_ id: ConversationID) {
        conversations[id]?.showing.isGone = false
    }

    /// Records that the conversation's counts have to be sent in a summary.
    mutating func countsChanged(in id: ConversationID) { conversations[id]?.isSummaryPending = true }

    // MARK: Attaching and summaries

    var joinPoints: [JoinPoint] {
        ids(where: \.isAttachable)
            .compactMap { id in
                guard let progress = conversations[id] else { return nil }
                return JoinPoint(
                    id: id, position: progress.reading.position, fanOutLast: progress.reading.fanOutLast,
                    counts: progress.counts,
                    messageCount: progress.messageCount, isHidden: !progress.isListed)
            }
    }

    /// Conversations in which the user does not participate, with the latest known time of leaving.
    var leaveRecords: [ConversationID: LeaveRecord] {
        conversations.filter { !$0.value.isMember }
            .mapValues { progress in
                LeaveRecord(
                    position: progress.reading.position,
                    seenUpTo: progress.isListed ? progress.reading.position : .zero, counts: progress.counts,
                    messageCount: progress.messageCount, lastMessagePosition: progress.reading.position)
            }
    }

    var summaries: [ConversationID: Summary] {
        conversations.filter { $0.value.isSummaryPending && !$0.value.isAttached && $0.value.isListed }
            .reduce(into: [:]) { summaries, item in
                let (id, progress) = item
                summaries[id] = Summary(
                    id: id, position: progress.counts.position,
                    unread: progress.counts.unread(of: progress.messageCount),
                    total: progress.counts.total(of: progress.messageCount))
            }
    }

    /// Records that nothing could be attached because the user's own log has moved on. That log is read again. No
    /// summary has been sent yet, so all remain pending, including those of conversations that the user has left.
    mutating func userRefused() {
        isUserLogPending = true
        scheduleRead(of: conversations.filter { $0.value.isAttachable }.map(\.key))
    }

    /// Records that the fan-out sends the user's own log from now on.
    mutating func userAttached() {
        userPosition = nil
        isUserLogPending = false
    }

    /// Records that all conversations were attached, except the `refused` ones. Those have moved on and are read again.
    mutating func attached(except refused: [ConversationID]) {
        for id in conversations.keys {
            if conversations[id]?.isAttachable == true { conversations[id]?.isAttached = true }
            if conversations[id]?.isMember == false { conversations[id]?.isSummaryPending = false }
        }
        for id in refused {
            conversations[id]?.isAttached = false
        }
        scheduleRead(of: refused)
    }
}
