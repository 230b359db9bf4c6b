// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Writes down what happens, with the seconds since the beginning, and remembers what should have happened and did not.
final class DemoTranscript: Sendable {
    private let console: Console
    private let began = ContinuousClock.now
    private let missed = Mutex<[String]>([])

    init(console: Console) {
        self.console = console
    }

    /// What should have happened and did not, so far.
    var missing: [String] { missed.withLock { $0 } }

    /// Begins a part of the story.
    func chapter(_ title: String) {
        console.say("\n\(title)")
    }

    /// One line: a user does something, or sees something.
    func say(_ text: String) {
        console.say("\(clock)  \(text)")
    }

    /// Something went wrong on the way that a client has to live with.
    func trouble(_ text: String) {
        console.say("\(clock)  ~ \(text)")
    }

    /// Something that had to happen did not.
    func miss(_ text: String) {
        missed.withLock { $0.append(text) }
        console.say("\(clock)  ✗ \(text)")
    }

    /// A line without a time.
    func close(_ text: String) {
        console.say("\n\(text)")
    }

    private var clock: String {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return String(format: "%4d.%03d", seconds, attoseconds / 1_000_000_000_000_000)
    }
}
