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
