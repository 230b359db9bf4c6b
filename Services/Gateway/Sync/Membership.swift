// SPDX-License-Identifier: Apache-2.0
import Model

/// What one socket knows of the conversations its user has come to or left, beside those it is in.
///
/// That somebody was added is told by up to three ways (the conversation's channel, his own, the heads), in any order, late or twice; each time
/// it must be found out whether the socket knows already.
struct Membership {
    /// Conversations to join once no other catch-up runs, from after these positions.
    private(set) var lateJoins: [ConversationID: Position] = [:]
    /// Conversations the user has left.
    private(set) var left: [ConversationID: Departure] = [:]
    /// Conversations that a running catch-up will attach, as far as entries of the user's own log have to wait for it.
    var pending: Set<ConversationID> = []

    /// Whether a catch-up that runs, or will, brings the conversation.
    func awaits(_ id: ConversationID) -> Bool { pending.contains(id) || lateJoins[id] != nil }

    /// A replay starts anew: whatever was to be joined, it will find.
    mutating func startedAnew() {
        pending = []
        lateJoins = [:]
    }

    /// The user is in the conversation since after this position; it is new to the socket.
    mutating func join(_ id: ConversationID, after position: Position) { lateJoins[id] = min(lateJoins[id] ?? position, position) }

    /// The user takes part in the conversation since `position`. Told once or several times.
    /// - Parameter known: how far the socket has been told the conversation, if it is in it.
    /// - Returns: whether that was news.
    mutating func added(to id: ConversationID, at position: Position, known: Position?) -> Bool {
        if let known, position <= known { return false }
        // Told late, of what a catch-up has found meanwhile, together with his removal after it.
        if let left = left[id], position <= left.position { return false }
        join(id, after: Position(position.rawValue - 1))
        return true
    }

    /// The user has no part in the conversation any more. That he was added before may be told once more: to join by it now would
    /// show everything again.
    mutating func left(_ id: ConversationID, _ departure: Departure) {
        if departure.position > left[id]?.position ?? .zero { left[id] = departure }
        if let before = lateJoins[id], before < departure.position { lateJoins[id] = nil }
    }

    /// Takes what can be joined now. Conversations the socket is in are left until it leaves them.
    mutating func takeReady(isIn: (ConversationID) -> Bool) -> [ConversationID: Position] {
        guard !lateJoins.isEmpty else { return [:] }
        let ready = lateJoins.filter { id, _ in !isIn(id) }
        for id in ready.keys {
            lateJoins[id] = nil
            pending.insert(id)
        }
        return ready
    }

    /// These could not be joined.
    mutating func putBack(_ conversations: [ConversationID: Position]) {
        for (id, position) in conversations { lateJoins[id] = lateJoins[id] ?? position }
    }
}
