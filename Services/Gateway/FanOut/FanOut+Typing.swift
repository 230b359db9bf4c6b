// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

extension FanOut {
    func received(_ signal: TypingSignal, goodFor: Duration?) {
        guard conversations[signal.conversationID] != nil else { return }
        typists.heard(signal, until: loop.now + (goodFor.map { TimeAmount($0) } ?? timing.typingSilence))
        dispatch(signal)
        if typistTimer == nil, !typists.isEmpty { scheduleTypistCheck() }
    }

    private func dispatch(_ signal: TypingSignal) {
        conversations[signal.conversationID]?.hubs.forEach { hubs[$0].enqueue { $0.deliver(signal) } }
    }

    /// Should Redis have restarted empty, nobody else will say that these have finished.
    private func scheduleTypistCheck() {
        typistTimer = loop.scheduleTask(in: .seconds(1)) {
            for signal in self.typists.takeEnded(at: self.loop.now) { self.dispatch(signal) }
            self.typistTimer = nil
            if !self.typists.isEmpty, !self.isStopped { self.scheduleTypistCheck() }
        }
    }
}
