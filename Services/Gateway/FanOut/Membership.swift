// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// What one socket knows of the conversations its user has come to or left, beside those it is in.
///
/// Up to three sources tell that a user was added (the conversation's channel, the user's own, the heads), in any order, late or twice. Each time
/// this type finds out whether the socket knows already.
package struct Membership {
    package init() {}

    /// Why a conversation is to be joined.
    private struct Join {
        /// The log is to be read from after here.
        var after: Position?
        /// The newest change known that added the user.
        var addition: Position?
    }

    /// Conversations to join once no other catch-up runs, and the socket is in them no more.
    private var joins: [ConversationID: Join] = [:] { didSet { if joins.isEmpty { waitingSince = nil } } }
    /// The last time shown when the first of these became known: while they wait behind another catch-up, that one must not show later times.
    package private(set) var waitingSince: Timestamp?
    package private(set) var left: [ConversationID: LeaveRecord] = [:]
    /// Conversations that a running catch-up will attach, as far as entries of the user's own log have to wait for it.
    package var pending: Set<ConversationID> = []
    /// Conversations the user is in that could not be shown, and up to where their logs were read.
    private var setAside: [ConversationID: Position] = [:]
    /// Those of them that are being looked at again.
    private var lookedAtAgain: Set<ConversationID> = []
    /// How often they were looked at again since the newest of them was set aside.
    package private(set) var vainLooks = 0

    /// Whether a catch-up that runs, or will, brings the conversation.
    package func awaits(_ id: ConversationID) -> Bool { pending.contains(id) || joins[id] != nil }

    /// A replay starts anew: whatever was to be joined, it will find.
    package mutating func startedAnew() {
        pending = []
        setAside = [:]
        lookedAtAgain = []
        vainLooks = 0
        joins = [:]
    }

    /// The conversation is to be read from after this position.
    /// - Parameter shown: the last time that a packet of the socket carried.
    package mutating func join(_ id: ConversationID, after position: Position, shown: Timestamp) {
        waitingSince = waitingSince ?? shown
        joins[id, default: Join()].after = min(joins[id]?.after ?? position, position)
    }

    /// The user takes part in the conversation since `position`. Told once or several times.
    /// - Parameter known: how far the socket has been told the conversation, if it is in it.
    /// - Parameter shown: the last time that a packet of the socket carried.
    /// - Returns: whether that was news.
    package mutating func added(to id: ConversationID, at position: Position, known: Position?, shown: Timestamp) -> Bool {
        if let known, position <= known { return false }
        // Told late, of a time that a catch-up has covered meanwhile, together with the user's removal after it.
        if let left = left[id], position <= left.position { return false }
        // Of what cannot be shown it is told once more. To look at it each time would be without end.
        if let read = setAside[id] {
            if position <= read { return false }
            setAside[id] = nil
            joins[id, default: Join()].after = read
        }
        waitingSince = waitingSince ?? shown
        joins[id, default: Join()].addition = max(joins[id]?.addition ?? position, position)
        return true
    }

    /// The user has no part in the conversation any more. The news that the user was added before may come once more: to join by it now would show
    /// everything again. The news that the user was added after it still counts.
    package mutating func left(_ id: ConversationID, record: LeaveRecord) {
        if record.position > left[id]?.position ?? .zero { left[id] = record }
        setAside[id] = nil
        lookedAtAgain.remove(id)
        guard var join = joins[id] else { return }
        if let after = join.after, after < record.position { join.after = nil }
        if let addition = join.addition, addition <= record.position { join.addition = nil }
        joins[id] = join.after == nil && join.addition == nil ? nil : join
    }

    /// The socket has come into the conversation, having been told it up to `position`.
    package mutating func attached(_ id: ConversationID, at position: Position) {
        setAside[id] = nil
        lookedAtAgain.remove(id)
        guard let addition = joins[id]?.addition, addition <= position else { return }
        joins[id]?.addition = nil
        if joins[id]?.after == nil { joins[id] = nil }
    }

    /// A catch-up has come to its end without these, which cannot be shown at present.
    /// - Parameter conversations: and up to where their logs were read.
    /// - Returns: those of which that is news.
    package mutating func setAside(_ conversations: [ConversationID: Position]) -> [ConversationID] {
        let new = conversations.keys.filter { !lookedAtAgain.contains($0) }
        if !new.isEmpty { vainLooks = 0 }
        lookedAtAgain.subtract(conversations.keys)
        for (id, position) in conversations {
            setAside[id] = position
            if let addition = joins[id]?.addition, addition <= position { joins[id]?.addition = nil }
            if let join = joins[id], join.after == nil, join.addition == nil { joins[id] = nil }
        }
        return new
    }

    /// Takes what was set aside, in order to look at it again.
    package mutating func takeSetAside() -> [ConversationID: Position] {
        defer { setAside = [:] }
        vainLooks += 1
        lookedAtAgain.formUnion(setAside.keys)
        return setAside
    }

    /// Takes what can be joined now, and after which positions. Conversations the socket is in are left until it leaves them.
    package mutating func takeReady(isIn: (ConversationID) -> Bool) -> [ConversationID: Position] {
        guard !joins.isEmpty else { return [:] }
        var ready: [ConversationID: Position] = [:]
        for (id, join) in joins where !isIn(id) {
            // Since the user left, or since the socket opened, the user may have come and gone more than once without the socket being told. The log
            // begins for the user where they first joined, and what lies before the socket's time is stepped over.
            ready[id] = join.after ?? left[id]?.position ?? .zero
        }
        for id in ready.keys {
            joins[id] = nil
            pending.insert(id)
        }
        return ready
    }

    /// These could not be joined.
    package mutating func putBack(_ conversations: [ConversationID: Position]) {
        for (id, position) in conversations where joins[id]?.after == nil { joins[id, default: Join()].after = position }
    }
}
