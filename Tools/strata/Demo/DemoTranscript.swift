// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The output of a demo: a log with the seconds since the start, and a list of failed expectations.
final class DemoTranscript: Sendable {
    private let console: Console
    private let began = ContinuousClock.now
    private let missed = Mutex<[String]>([])

    init(console: Console) {
        self.console = console
    }

    /// The failed expectations so far.
    var missing: [String] { missed.withLock { $0 } }

    func chapter(_ title: String) {
        console.say("\n\(title)")
    }

    /// Prints one action or observation of a user.
    func say(_ text: String) {
        console.say("\(clock)  \(text)")
    }

    /// Prints a transient failure that a client must tolerate.
    func transientFailure(_ text: String) {
        console.say("\(clock)  ~ \(text)")
    }

    /// Records and prints a failed expectation.
    func failedExpectation(_ text: String) {
        missed.withLock { $0.append(text) }
        console.say("\(clock)  ✗ \(text)")
    }

    /// Prints a closing line without a time.
    func close(_ text: String) {
        console.say("\n\(text)")
    }

    private var clock: String {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return String(format: "%4d.%03d", seconds, attoseconds / 1_000_000_000_000_000)
    }
}
