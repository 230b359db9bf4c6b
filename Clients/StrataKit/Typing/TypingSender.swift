// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Decides which typing signals this device sends, from what the app calls at every keystroke.
///
/// A conversation goes from idle to `begin`, after a time without calls to `pause`, after another to `finish`, which is idle again.
/// Whatever happens while there is no connection only moves this state: others are never told later what is over.
struct TypingSender: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// One signal to send.
    struct Signal: Hashable, Sendable {
        let action: TypingAction
        let conversationID: ConversationID
    }

    /// A conversation that is not idle.
    private struct Typing {
        /// `begin` or `pause`.
        var action: TypingAction
        /// When the next action follows by itself.
        var deadline: Instant
        /// What this connection was told last, and when.
        var told: (action: TypingAction, at: Instant)?
    }

    private let periods: TypingPeriods
    private var isConnected: Bool
    private var typing: [ConversationID: Typing] = [:]

    init(periods: TypingPeriods = TypingPeriods(), isConnected: Bool = false) {
        self.periods = periods
        self.isConnected = isConnected
    }

    /// When ``timerDue(at:)`` must be called next; nil while every conversation is idle.
    var deadline: Instant? { typing.values.lazy.map(\.deadline).min() }

    /// The app says what the user does.
    ///
    /// What was said last is said again only after ``TypingPeriods/repetition``; anything else is said at once.
    mutating func called(_ action: TypingAction, in conversationID: ConversationID, at now: Instant) -> Signal? {
        if action == .finish {
            guard typing.removeValue(forKey: conversationID) != nil, isConnected else { return nil }
            return Signal(action: .finish, conversationID: conversationID)
        }
        let told = typing[conversationID]?.told
        let deadline = now + (action == .begin ? periods.pause : periods.finish)
        typing[conversationID] = Typing(action: action, deadline: deadline, told: told)
        if let told, told.action == action, now < told.at + periods.repetition { return nil }
        return tell(conversationID, at: now)
    }

    /// The user has sent a message, which the server and all receivers take for the end of their typing.
    mutating func messageSent(in conversationID: ConversationID) { typing[conversationID] = nil }

    /// The conversation was deleted, or the user is no longer in it.
    mutating func conversationGone(_ conversationID: ConversationID) { typing[conversationID] = nil }

    /// The connection was lost. Conversations go on to pause and to finish, and no signal is sent.
    mutating func connectionLost() {
        isConnected = false
        for conversationID in typing.keys { typing[conversationID]?.told = nil }
    }

    /// There is a connection. Only conversations in which the user types at this moment are told.
    mutating func connectionRestored(at now: Instant) -> [Signal] {
        isConnected = true
        for conversationID in typing.keys { advance(conversationID, at: now) }
        let current = typing.filter { $0.value.action == .begin }.keys
        return current.compactMap { tell($0, at: now) }
    }

    /// The user has signed out, or the app has disconnected. Every conversation is idle, and nothing is sent.
    mutating func stop() {
        isConnected = false
        typing = [:]
    }

    /// Moves every conversation on whose time has come. Where several steps are due only the last one is told.
    mutating func timerDue(at now: Instant) -> [Signal] {
        let due = typing.filter { $0.value.deadline <= now }.sorted { $0.value.deadline < $1.value.deadline }.map(\.key)
        return due.compactMap { conversationID in
            advance(conversationID, at: now)
            if typing[conversationID] != nil { return tell(conversationID, at: now) }
            return isConnected ? Signal(action: .finish, conversationID: conversationID) : nil
        }
    }

    private mutating func advance(_ conversationID: ConversationID, at now: Instant) {
        while let current = typing[conversationID], current.deadline <= now {
            typing[conversationID] =
                current.action == .begin ? Typing(action: .pause, deadline: current.deadline + periods.finish, told: current.told) : nil
        }
    }

    private mutating func tell(_ conversationID: ConversationID, at now: Instant) -> Signal? {
        guard isConnected, let action = typing[conversationID]?.action else { return nil }
        typing[conversationID]?.told = (action, now)
        return Signal(action: action, conversationID: conversationID)
    }
}
