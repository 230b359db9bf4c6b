// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// The conversations that a socket's user has been added to or has left, apart from those that the socket is in.
///
/// Up to three sources report that a user was added: the conversation's channel, the user's channel, and the heads.
/// Reports arrive in any order, late, or more than once. This type detects duplicates.
package struct Membership {
    package init() {}

    /// The reasons to join a conversation.
    private struct Join {
        /// The position after which the log must be read.
        var after: Position?
        /// The position of the newest known change that added the user.
        var addition: Position?
    }

    /// Conversations to join when no other catch-up runs and the socket is not in them.
    private var joins: [ConversationID: Join] = [:] { didSet { if joins.isEmpty { waitingSince = nil } } }
    /// The time on the socket's last packet when the first of ``joins`` was added. A catch-up that runs before them
    /// must not send later times.
    package private(set) var waitingSince: Timestamp?
    /// The last departure from each conversation.
    package private(set) var departures: [ConversationID: LeaveRecord] = [:]
    /// Conversations that a running catch-up will attach. Entries of the user's own log about them are deferred.
    package var pending: Set<ConversationID> = []
    /// Conversations that are set aside because they could not be shown, with the positions up to which their logs were
    /// read.
    private var unshown: [ConversationID: Position] = [:]
    /// The set-aside conversations that are being retried.
    private var retrying: Set<ConversationID> = []
    /// The number of retries since a conversation was last set aside for the first time.
    package private(set) var retryCount = 0

    /// Returns true if a running or pending catch-up will attach the conversation.
    package func awaits(_ id: ConversationID) -> Bool { pending.contains(id) || joins[id] != nil }

    /// Clears the state for a replay, which finds all conversations to join.
    package mutating func reset() {
        pending = []
        unshown = [:]
        retrying = []
        retryCount = 0
        joins = [:]
    }

    /// Adds a conversation to join. Its log must be read after `position`.
    /// - Parameter shown: the time on the socket's last packet.
    package mutating func join(_ id: ConversationID, after position: Position, shown: Timestamp) {
        waitingSince = waitingSince ?? shown
        joins[id, default: Join()].after = min(joins[id]?.after ?? position, position)
    }

    /// Handles a report that the user was added to the conversation. Reports can be repeated.
    /// - Parameters:
    ///   - position: the position of the change that added the user.
    ///   - known: the position up to which the socket has received the conversation, if the socket is in it.
    ///   - shown: the time on the socket's last packet.
    /// - Returns: true if the report is new.
    package mutating func added(
        to id: ConversationID, at position: Position, known: Position?, shown: Timestamp
    ) -> Bool {
        if let known, position <= known { return false }
        // A late report: a catch-up has already covered the addition, together with the user's later removal.
        if let departure = departures[id], position <= departure.position { return false }
        // Reports about a conversation that cannot be shown are repeated. Retrying it each time would never end.
        if let read = unshown[id] {
            if position <= read { return false }
            unshown[id] = nil
            joins[id, default: Join()].after = read
        }
        waitingSince = waitingSince ?? shown
        joins[id, default: Join()].addition = max(joins[id]?.addition ?? position, position)
        return true
    }

    /// Handles the user's departure from the conversation.
    ///
    /// Reports of earlier additions can follow. Joining because of them would send everything again, so they are
    /// discarded. Reports of later additions stay valid.
    package mutating func left(_ id: ConversationID, record: LeaveRecord) {
        if record.position > departures[id]?.position ?? .zero { departures[id] = record }
        unshown[id] = nil
        retrying.remove(id)
        guard var join = joins[id] else { return }
        if let after = join.after, after < record.position { join.after = nil }
        if let addition = join.addition, addition <= record.position { join.addition = nil }
        joins[id] = join.after == nil && join.addition == nil ? nil : join
    }

    /// Handles the attachment of the socket to the conversation, after it has received all changes up to `position`.
    package mutating func attached(_ id: ConversationID, at position: Position) {
        unshown[id] = nil
        retrying.remove(id)
        guard let addition = joins[id]?.addition, addition <= position else { return }
        joins[id]?.addition = nil
        if joins[id]?.after == nil { joins[id] = nil }
    }

    /// Sets aside conversations that a finished catch-up could not show.
    /// - Parameter conversations: the conversations, with the positions up to which their logs were read.
    /// - Returns: the conversations that were not set aside before.
    package mutating func setAside(_ conversations: [ConversationID: Position]) -> [ConversationID] {
        let new = conversations.keys.filter { !retrying.contains($0) }
        if !new.isEmpty { retryCount = 0 }
        retrying.subtract(conversations.keys)
        for (id, position) in conversations {
            unshown[id] = position
            if let addition = joins[id]?.addition, addition <= position { joins[id]?.addition = nil }
            if let join = joins[id], join.after == nil, join.addition == nil { joins[id] = nil }
        }
        return new
    }

    /// Takes all set-aside conversations for a retry.
    package mutating func takeSetAside() -> [ConversationID: Position] {
        defer { unshown = [:] }
        retryCount += 1
        retrying.formUnion(unshown.keys)
        return unshown
    }

    /// Takes the conversations that can be joined now, with the positions after which to read. Conversations that the
    /// socket is in remain until it leaves them.
    package mutating func takeReady(isIn: (ConversationID) -> Bool) -> [ConversationID: Position] {
        guard !joins.isEmpty else { return [:] }
        var ready: [ConversationID: Position] = [:]
        for (id, join) in joins where !isIn(id) {
            // The user may have been added and removed several times without a report, since the user left or the
            // socket opened. The log begins for the user at their first addition; entries from before the socket's time
            // are skipped.
            ready[id] = join.after ?? departures[id]?.position ?? .zero
        }
        for id in ready.keys {
            joins[id] = nil
            pending.insert(id)
        }
        return ready
    }

    /// Puts back conversations that could not be joined.
    package mutating func putBack(_ conversations: [ConversationID: Position]) {
        for (id, position) in conversations where joins[id]?.after == nil {
            joins[id, default: Join()].after = position
        }
    }
}

/// The point at which a socket joins a conversation. The catch-up has sent everything up to `position`; live changes
/// follow.
package struct JoinPoint: Sendable {
    package var id: ConversationID
    package var position: Position
    /// The last position that the fan-out had passed to the registries when the catch-up asked for it.
    package var fanOutLast: Position
    package var counts: UserCounts
    package var messageCount: Int64
    package var isHidden: Bool

    package init(
        id: ConversationID, position: Position, fanOutLast: Position, counts: UserCounts, messageCount: Int64,
        isHidden: Bool
    ) {
        self.id = id
        self.position = position
        self.fanOutLast = fanOutLast
        self.counts = counts
        self.messageCount = messageCount
        self.isHidden = isHidden
    }
}

/// A user's departure from a conversation, and the state of the conversation that the client last received.
package struct LeaveRecord: Sendable, Equatable {
    /// The position of the change that removed the user, or of a later one.
    package var position: Position
    /// The position up to which the client has received content visible to the user. Zero if the conversation had been
    /// removed from the user's devices.
    package var seenUpTo: Position
    /// The user's counts as last sent to the client.
    package var counts = UserCounts(excluded: 0, hidden: 0, position: .zero)
    /// The number of messages ever sent, at the user's departure or earlier.
    package var messageCount: Int64 = 0
    /// The position of the newest change from which the client knows the last message.
    package var lastMessagePosition = Position.zero

    package init(
        position: Position, seenUpTo: Position,
        counts: UserCounts = UserCounts(excluded: 0, hidden: 0, position: .zero), messageCount: Int64 = 0,
        lastMessagePosition: Position = .zero
    ) {
        self.position = position
        self.seenUpTo = seenUpTo
        self.counts = counts
        self.messageCount = messageCount
        self.lastMessagePosition = lastMessagePosition
    }

    /// Returns the conversation as the user sees it after leaving, derived from an earlier view.
    func after(_ view: ConversationView) -> ConversationView {
        guard view.conversation.position < position else { return view }
        var view = view
        view.isParticipant = false
        if counts.position > view.counts.position { view.counts = counts }
        view.messageCount = max(view.messageCount, messageCount)
        return view
    }
}

/// A user's counts in one conversation as known to an event loop, and whether the client still lacks them.
///
/// A published change states the counts that it causes; a change read from the log does not. After the latter, the
/// counts of affected users are unknown until they are read. A packet never states counts older than its change. The
/// client receives such a change without counts, and later one packet with both
/// (``LoopRegistry/repairEnded(of:counts:)``).
struct MemberCounts {
    private(set) var known: UserCounts
    /// The position of the last change that altered the counts without stating them.
    private(set) var unknownUpTo = Position.zero
    /// True if the client has received such a change, and has not received both counts since.
    private(set) var isPending = false

    init(_ known: UserCounts) { self.known = known }

    /// True if ``known`` is up to date.
    var areCurrent: Bool { known.position >= unknownUpTo }

    /// Stores new counts. Older counts than the known ones are ignored.
    mutating func take(_ new: UserCounts) {
        if new.position >= known.position { known = new }
    }

    /// Updates the counts for a change delivered to a socket of `user`.
    /// - Parameters:
    ///   - isFromLog: true if the change was read from the log.
    ///   - isTold: true if the client receives the change. A client to which the conversation is hidden does not.
    mutating func apply(_ change: Change, isFromLog: Bool, to user: UserID, isTold: Bool) {
        if let new = change.counts[user] { return take(new) }
        guard isFromLog, change.counts.isEmpty, change.altersCounts(of: user) else { return }
        unknownUpTo = change.position
        if isTold { isPending = true }
    }

    /// Records that the client has received both counts, or no longer needs them.
    mutating func settled() { isPending = false }
}

extension Change {
    /// Returns true if the change alters the counts of `user`. The number of messages is not one of them: every change
    /// carries it.
    fileprivate func altersCounts(of user: UserID) -> Bool {
        switch content {
        // A message hidden from a user always counts as hidden, never as anything else.
        case .messageCreated: actor == user || hiddenFrom.contains(user)
        case .messageDeleted: !hiddenFrom.contains(user)
        case .receipts(let receipts): receipts.contains { $0.user == user && $0.status == .read }
        case .allRead(let reader, _, _): reader == user
        case .conversationCreated, .participantsChanged, .metadataChanged, .conversationDeleted, .partsChanged: false
        }
    }
}
