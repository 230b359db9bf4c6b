// SPDX-License-Identifier: Apache-2.0

package import StrataModel

/// A model of the typing state of one typist: a pure state machine with time as a parameter, in milliseconds. The Redis
/// scripts are checked against it, and the typing simulation uses it.
package struct TypingModel: Sendable {
    private enum State: Sendable {
        case none
        case started(announcedAt: Int, ends: Int)
        case paused(announcedAt: Int, ends: Int)
    }

    let pause: Int
    let finish: Int
    let repeatAfter: Int
    private var state = State.none

    package init(pause: Int, finish: Int, repeatAfter: Int) {
        self.pause = pause
        self.finish = finish
        self.repeatAfter = repeatAfter
    }

    /// The time at which the state ends without a further signal.
    package var deadline: Int? {
        switch state {
        case .none: nil
        case .started(_, let ends), .paused(_, let ends): ends
        }
    }

    /// Handles a signal of the client. Returns the action to announce.
    package mutating func event(_ action: TypingAction, at now: Int) -> TypingAction? {
        switch (action, state) {
        case (.finished, .none):
            return nil
        case (.finished, .started), (.finished, .paused):
            state = .none
            return .finished
        case (.started, .started(let announced, _)):
            let again = now - announced >= repeatAfter
            state = .started(announcedAt: again ? now : announced, ends: now + pause)
            return again ? .started : nil
        case (.started, .none), (.started, .paused):
            state = .started(announcedAt: now, ends: now + pause)
            return .started
        case (.paused, .paused(let announced, _)):
            let again = now - announced >= repeatAfter
            state = .paused(announcedAt: again ? now : announced, ends: now + finish)
            return again ? .paused : nil
        case (.paused, .none), (.paused, .started):
            state = .paused(announcedAt: now, ends: now + finish)
            return .paused
        }
    }

    /// Handles a restart of Redis without its data.
    package mutating func forget() { state = .none }

    /// Ends an expired state. Returns the action to announce, one step at a time.
    package mutating func sweep(at now: Int) -> TypingAction? {
        switch state {
        case .started(_, let ends) where ends <= now:
            state = .paused(announcedAt: now, ends: ends + finish)
            return .paused
        case .paused(_, let ends) where ends <= now:
            state = .none
            return .finished
        case .none, .started, .paused:
            return nil
        }
    }
}
