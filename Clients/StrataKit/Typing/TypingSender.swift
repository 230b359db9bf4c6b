// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Decides which typing signals this device sends. The app calls it at every keystroke.
///
/// A conversation moves from idle to `begin`; after a time without calls to `pause`, and after another to `finish`, which is idle again.
/// Without a connection only this state changes: no signal is sent later.
struct TypingSender: Sendable {
    typealias Instant = ContinuousClock.Instant

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
        /// The last signal on this connection, and its time.
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

    /// The app reports what the user does.
    ///
    /// The last signal is repeated only after ``TypingPeriods/repetition``; any other signal is sent at once.
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

    /// The user has sent a message, which ends the typing for the server and for all receivers.
    mutating func messageSent(in conversationID: ConversationID) { typing[conversationID] = nil }

    /// The conversation was deleted, or the user is no longer in it.
    mutating func conversationGone(_ conversationID: ConversationID) { typing[conversationID] = nil }

    /// The connection was lost. Conversations still move on to pause and to finish, and no signal is sent.
    mutating func connectionLost() {
        isConnected = false
        for conversationID in typing.keys { typing[conversationID]?.told = nil }
    }

    /// There is a connection. Signals are sent only for conversations in which the user types at this moment.
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

    /// Moves each conversation that is due to its next state. If several steps are due, only the last signal is sent.
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
