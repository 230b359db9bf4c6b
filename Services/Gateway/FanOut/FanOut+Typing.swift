// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

extension FanOut {
    func typingPublished(_ signal: TypingSignal, goodFor: Duration?) {
        guard conversations[signal.conversationID] != nil else { return }
        typists.table.heard(signal, until: loop.now + (goodFor.map { TimeAmount($0) } ?? timing.typingSilence))
        dispatchTyping(signal)
        if typists.timer == nil, !typists.table.isEmpty { scheduleTypistCheck() }
    }

    /// Ends the typing of a message's sender. Most senders are not typing, and a call to the presence service for each
    /// message would cost a quarter of the message itself. So only gateways that received the typing signal call.
    func endTyping(ofSenderOf change: Change) {
        guard !typists.table.isEmpty, case .messageCreated(_, _, let message) = change.content,
            let sender = message?.sender.userID ?? change.actor,
            typists.table.beginEnding(sender, in: change.conversationID)
        else { return }
        source.endTyping(of: UserKey(app: change.appID, user: sender), in: change.conversationID)
    }

    private func dispatchTyping(_ signal: TypingSignal) {
        conversations[signal.conversationID]?.loops.forEach { registries[$0].enqueue { $0.deliverTyping(signal) } }
    }

    /// Schedules the expiry of typists. No publication ends their typing if Redis restarted empty or if no presence
    /// service runs.
    private func scheduleTypistCheck() {
        typists.timer = loop.scheduleTask(in: .seconds(1)) {
            for signal in self.typists.table.takeEnded(at: self.loop.now) { self.dispatchTyping(signal) }
            self.typists.timer = nil
            if !self.typists.table.isEmpty, !self.isStopped { self.scheduleTypistCheck() }
        }
    }
}

/// The typing users in this gateway's conversations (docs/architecture.md §7). The gateway ends typing whose signals
/// stop, and has the presence service end the typing of a user who sends a message.
///
/// The presence service states how long a signal is valid, because it knows when it would repeat the signal.
struct TypistTable {
    private struct Typist {
        /// The time at which typing ends without another signal.
        var end: NIODeadline
        /// True after ``beginEnding(_:in:)``, until the next signal.
        var isEnding = false
    }

    private var table: [ConversationID: [UserID: Typist]] = [:]

    var isEmpty: Bool { table.isEmpty }

    /// Records a signal of the presence service.
    /// - Parameter end: the time at which typing ends unless another signal arrives.
    mutating func heard(_ signal: TypingSignal, until end: NIODeadline) {
        if signal.action == .finished {
            remove(signal.user, in: signal.conversationID)
        } else {
            table[signal.conversationID, default: [:]][signal.user] = Typist(end: end)
        }
    }

    /// Marks the user's typing as ending. The caller then has the presence service end it.
    /// - Returns: false if the user is not typing, or if the end was requested since the last signal.
    mutating func beginEnding(_ user: UserID, in conversation: ConversationID) -> Bool {
        guard table[conversation]?[user]?.isEnding == false else { return false }
        table[conversation]?[user]?.isEnding = true
        return true
    }

    private mutating func remove(_ user: UserID, in conversation: ConversationID) {
        guard table[conversation]?.removeValue(forKey: user) != nil else { return }
        if table[conversation]?.isEmpty == true { table[conversation] = nil }
    }

    /// Removes the typists of a conversation without sockets here.
    mutating func forget(_ conversation: ConversationID) { table[conversation] = nil }

    /// Removes all typists whose last signal has expired, and returns a `finished` signal for each, in a stable order.
    mutating func takeEnded(at now: NIODeadline) -> [TypingSignal] {
        var ended: [TypingSignal] = []
        for (conversation, typists) in table {
            for (user, typist) in typists where typist.end <= now {
                ended.append(TypingSignal(conversationID: conversation, user: user, action: .finished))
            }
        }
        for signal in ended { remove(signal.user, in: signal.conversationID) }
        return ended.sorted { ($0.user, $0.conversationID.description) < ($1.user, $1.conversationID.description) }
    }
}
