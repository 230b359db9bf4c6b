// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// How far an event loop has been handed one log, and who may join it there.
///
/// The rule by which nothing is lost and nothing doubled between a catch-up and the fan-out: a socket joins only if its reading has come at least as
/// far as the loop, and as far as the fan-out had when it was asked. What the fan-out hands on later reaches the loop later, so everything behind
/// the socket's own position still comes; what comes again, since others here are behind it, is not sent to it twice (``isNews(_:to:)``).
struct LogCursor {
    /// The last position handed to this loop; zero before the first.
    private(set) var last = Position.zero

    /// A change was handed to the loop.
    mutating func advance(to position: Position) { last = max(last, position) }

    /// Whether a socket that has read up to `position` may join; if so, the cursor knows what the fan-out knew.
    /// - Parameter fanOutLast: what the fan-out had handed on when it was asked, which was after the log had been read up to `position`.
    mutating func admits(readTo position: Position, fanOutLast: Position) -> Bool {
        guard position >= last, position >= fanOutLast else { return false }
        last = max(last, fanOutLast)
        return true
    }

    /// Whether a change must be sent to a socket that had read up to `read` when it joined.
    static func isNews(_ position: Position, to read: Position) -> Bool { read < position }
}
