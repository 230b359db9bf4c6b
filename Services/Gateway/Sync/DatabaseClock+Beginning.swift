// SPDX-License-Identifier: Apache-2.0
package import FanOut
package import StrataModel

extension DatabaseClock {
    /// Returns the time from which a socket is sent changes that its client did not request:
    /// ``CatchUpTiming/openingMargin`` before it opened, but not before its session was made. A session with a time in
    /// the future was made before the clock was set back, so its time is ignored.
    package static func beginning(opened: Duration, before now: Timestamp, session: Timestamp) -> Timestamp {
        let begin = now.advanced(by: .zero - opened - CatchUpTiming.openingMargin)
        return session <= now.advanced(by: CatchUpTiming.replayMargin) ? min(max(begin, session), now) : begin
    }
}
