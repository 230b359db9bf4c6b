// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Keeps which participants type in which conversations, from their signals, and decides what is published to the app.
///
/// Every `begin` and `pause` that comes is published, repetitions too, so that an app that begins to listen late soon sees who types.
/// A `finish` is published once: when the server sends it, or when something else ends the typing.
struct TypingReceiver: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Key: Hashable {
        let conversationID: ConversationID
        let userID: UserID
    }

    private struct Typist {
        var sender: Identity
        /// When the participant is forgotten.
        var deadline: Instant
    }

    private let periods: TypingPeriods
    /// The signed-in user, whose own signals from other devices are not published.
    private let user: UserID?
    private var typists: [Key: Typist] = [:]

    init(user: UserID?, periods: TypingPeriods = TypingPeriods()) {
        self.user = user
        self.periods = periods
    }

    /// When ``timerDue(at:)`` must be called next; nil while no participant types.
    var deadline: Instant? { typists.values.lazy.map(\.deadline).min() }

    /// A signal has come.
    /// - Parameter isKnown: whether the conversation is on this device; a signal about another one is dropped.
    /// - Returns: what to publish; nil: nothing.
    mutating func indicatorReceived(_ indicator: TypingIndicator, isKnown: Bool, at now: Instant) -> TypingIndicator? {
        guard isKnown, let userID = indicator.sender.userID, userID != user else { return nil }
        let key = Key(conversationID: indicator.conversationID, userID: userID)
        if indicator.action == .finish { return typists.removeValue(forKey: key) == nil ? nil : indicator }
        typists[key] = Typist(sender: indicator.sender, deadline: now + periods.silence)
        return indicator
    }

    /// A message has come, which ends its sender's typing.
    mutating func messageArrived(from userID: UserID, in conversationID: ConversationID) -> TypingIndicator? {
        finishTyping(of: userID, in: conversationID)
    }

    mutating func participantLeft(_ userID: UserID, from conversationID: ConversationID) -> TypingIndicator? {
        finishTyping(of: userID, in: conversationID)
    }

    /// The conversation was deleted, or this user is no longer in it.
    mutating func conversationGone(_ conversationID: ConversationID) -> [TypingIndicator] {
        finishAll { key, _ in key.conversationID == conversationID }
    }

    /// The connection was lost: whether participants still type is not known.
    mutating func connectionLost() -> [TypingIndicator] { finishAll { _, _ in true } }

    /// Forgets all participants who were silent for ``TypingPeriods/silence``.
    mutating func timerDue(at now: Instant) -> [TypingIndicator] { finishAll { _, typist in typist.deadline <= now } }

    private mutating func finishTyping(of userID: UserID, in conversationID: ConversationID) -> TypingIndicator? {
        guard let typist = typists.removeValue(forKey: Key(conversationID: conversationID, userID: userID)) else { return nil }
        return TypingIndicator(conversationID: conversationID, sender: typist.sender, action: .finish)
    }

    private mutating func finishAll(where isOver: (Key, Typist) -> Bool) -> [TypingIndicator] {
        let over = typists.filter { isOver($0.key, $0.value) }.sorted { $0.value.deadline < $1.value.deadline }
        return over.compactMap { finishTyping(of: $0.key.userID, in: $0.key.conversationID) }
    }
}
