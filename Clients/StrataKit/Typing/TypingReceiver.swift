// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The typing participants of all conversations. It processes their signals and decides what is published to the app.
///
/// Every `begin` and `pause` is published, including repetitions, so that an app that subscribes late soon knows who is
/// typing. A `finish` is published once: when the server sends it, or when another event ends the typing.
struct TypingReceiver: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Key: Hashable {
        let conversationID: ConversationID
        let userID: UserID
    }

    private struct Typist {
        var sender: Identity
        var deadline: Instant
    }

    private let periods: TypingPeriods
    /// The signed-in user. Signals from the user's other devices are not published.
    private let user: UserID?
    private var typists: [Key: Typist] = [:]

    init(user: UserID?, periods: TypingPeriods = TypingPeriods()) {
        self.user = user
        self.periods = periods
    }

    /// The time of the next call to ``timerDue(at:)``; nil while no participant is typing.
    var deadline: Instant? { typists.values.lazy.map(\.deadline).min() }

    /// Handles a signal.
    /// - Parameter isKnown: true if the conversation is on this device; signals of unknown conversations are dropped.
    /// - Returns: the indicator to publish; nil if there is none.
    mutating func indicatorReceived(_ indicator: TypingIndicator, isKnown: Bool, at now: Instant) -> TypingIndicator? {
        guard isKnown, let userID = indicator.sender.userID, userID != user else { return nil }
        let key = Key(conversationID: indicator.conversationID, userID: userID)
        if indicator.action == .finish { return typists.removeValue(forKey: key) == nil ? nil : indicator }
        typists[key] = Typist(sender: indicator.sender, deadline: now + periods.silence)
        return indicator
    }

    /// Handles a message, which ends its sender's typing.
    mutating func messageArrived(from userID: UserID, in conversationID: ConversationID) -> TypingIndicator? {
        finishTyping(of: userID, in: conversationID)
    }

    mutating func participantLeft(_ userID: UserID, from conversationID: ConversationID) -> TypingIndicator? {
        finishTyping(of: userID, in: conversationID)
    }

    /// Handles a conversation that was deleted, or that this user has left.
    mutating func conversationGone(_ conversationID: ConversationID) -> [TypingIndicator] {
        finishAll { key, _ in key.conversationID == conversationID }
    }

    /// Handles the loss of the connection. Ends all typing, because its state is unknown.
    mutating func connectionLost() -> [TypingIndicator] { finishAll { _, _ in true } }

    /// Ends the typing of all participants without a signal for ``TypingPeriods/silence``.
    mutating func timerDue(at now: Instant) -> [TypingIndicator] { finishAll { _, typist in typist.deadline <= now } }

    private mutating func finishTyping(of userID: UserID, in conversationID: ConversationID) -> TypingIndicator? {
        guard let typist = typists.removeValue(forKey: Key(conversationID: conversationID, userID: userID)) else {
            return nil
        }
        return TypingIndicator(conversationID: conversationID, sender: typist.sender, action: .finish)
    }

    private mutating func finishAll(where isOver: (Key, Typist) -> Bool) -> [TypingIndicator] {
        let over = typists.filter { isOver($0.key, $0.value) }.sorted { $0.value.deadline < $1.value.deadline }
        return over.compactMap { finishTyping(of: $0.key.userID, in: $0.key.conversationID) }
    }
}
