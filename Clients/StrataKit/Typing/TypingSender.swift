// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Decides which typing signals this device sends. The app calls it for every keystroke.
///
/// A conversation moves from idle to `begin`. After a time without calls it moves to `pause`, and after a further time
/// to `finish`, which is idle again. Without a connection only this state changes: no signal is sent later.
struct TypingSender: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Signal: Hashable, Sendable {
        let action: TypingAction
        let conversationID: ConversationID
    }

    private struct Typing {
        /// `begin` or `pause`.
        var action: TypingAction
        /// The time of the next automatic action.
        var deadline: Instant
        /// The last signal on this connection, and its time.
        var lastSignal: (action: TypingAction, at: Instant)?
    }

    private let periods: TypingPeriods
    private var isConnected: Bool
    private var typing: [ConversationID: Typing] = [:]

    init(periods: TypingPeriods = TypingPeriods(), isConnected: Bool = false) {
        self.periods = periods
        self.isConnected = isConnected
    }

    /// The time of the next call to ``timerDue(at:)``; nil while every conversation is idle.
    var deadline: Instant? { typing.values.lazy.map(\.deadline).min() }

    /// Handles a call of the app.
    ///
    /// The last signal is repeated only after ``TypingPeriods/repetition``; any other signal is sent immediately.
    mutating func called(_ action: TypingAction, in conversationID: ConversationID, at now: Instant) -> Signal? {
        if action == .finish {
            guard typing.removeValue(forKey: conversationID) != nil, isConnected else { return nil }
            return Signal(action: .finish, conversationID: conversationID)
        }
        let lastSignal = typing[conversationID]?.lastSignal
        let deadline = now + (action == .begin ? periods.pause : periods.finish)
        typing[conversationID] = Typing(action: action, deadline: deadline, lastSignal: lastSignal)
        if let lastSignal, lastSignal.action == action, now < lastSignal.at + periods.repetition { return nil }
        return sendSignal(in: conversationID, at: now)
    }

    /// Handles a sent message, which ends the typing on the server and for all receivers.
    mutating func messageSent(in conversationID: ConversationID) { typing[conversationID] = nil }

    /// Handles a conversation that was deleted, or that the user has left.
    mutating func conversationGone(_ conversationID: ConversationID) { typing[conversationID] = nil }

    /// Handles the loss of the connection. Conversations still move to `pause` and `finish`, but no signal is sent.
    mutating func connectionLost() {
        isConnected = false
        for conversationID in typing.keys { typing[conversationID]?.lastSignal = nil }
    }

    /// Handles a new connection. Signals are sent only for conversations in which the user is currently typing.
    mutating func connectionRestored(at now: Instant) -> [Signal] {
        isConnected = true
        for conversationID in typing.keys { advance(conversationID, at: now) }
        let current = typing.filter { $0.value.action == .begin }.keys
        return current.compactMap { sendSignal(in: $0, at: now) }
    }

    /// Resets all conversations to idle without a signal, after a sign-out or a disconnect.
    mutating func stop() {
        isConnected = false
        typing = [:]
    }

    /// Moves each conversation that is due to its next state. If several steps are due, only the last signal is sent.
    mutating func timerDue(at now: Instant) -> [Signal] {
        let due = typing.filter { $0.value.deadline <= now }.sorted { $0.value.deadline < $1.value.deadline }.map(\.key)
        return due.compactMap { conversationID in
            advance(conversationID, at: now)
            if typing[conversationID] != nil { return sendSignal(in: conversationID, at: now) }
            return isConnected ? Signal(action: .finish, conversationID: conversationID) : nil
        }
    }

    private mutating func advance(_ conversationID: ConversationID, at now: Instant) {
        while let current = typing[conversationID], current.deadline <= now {
            typing[conversationID] =
                current.action == .begin
                ? Typing(action: .pause, deadline: current.deadline + periods.finish, lastSignal: current.lastSignal)
                : nil
        }
    }

    private mutating func sendSignal(in conversationID: ConversationID, at now: Instant) -> Signal? {
        guard isConnected, let action = typing[conversationID]?.action else { return nil }
        typing[conversationID]?.lastSignal = (action, now)
        return Signal(action: action, conversationID: conversationID)
    }
}
