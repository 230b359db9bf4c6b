// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

extension FanOut {
    func received(_ signal: TypingSignal) {
        guard conversations[signal.conversationID] != nil else { return }
        typists.heard(signal, at: loop.now)
        dispatch(signal)
        if typistTimer == nil, !typists.isEmpty { scheduleTypistCheck() }
    }

    private func dispatch(_ signal: TypingSignal) {
        conversations[signal.conversationID]?.hubs.forEach { hubs[$0].enqueue { $0.deliver(signal) } }
    }

    /// Should Redis have restarted empty, nobody else will say that these have finished.
    private func scheduleTypistCheck() {
        typistTimer = loop.scheduleTask(in: .seconds(1)) {
            for signal in self.typists.takeSilent(since: self.loop.now - self.timing.typingSilence) { self.dispatch(signal) }
            self.typistTimer = nil
            if !self.typists.isEmpty, !self.isStopped { self.scheduleTypistCheck() }
        }
    }

    /// Whether this gateway believes that `user` is typing there. Callable from anywhere.
    func isTyping(_ user: UserID, in conversation: ConversationID) async -> Bool {
        (try? await loop.submit { self.typists.contains(user, in: conversation) }.get()) ?? false
    }
}
