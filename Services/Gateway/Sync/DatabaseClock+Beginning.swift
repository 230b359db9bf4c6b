// SPDX-License-Identifier: Apache-2.0
package import FanOut
package import StrataModel

extension DatabaseClock {
    /// From when on a socket is told what its client did not ask for: some time before it opened, but not before its session was made. A session that was made
    /// at a time that has not come yet was made before the clock was set back.
    package static func beginning(opened: Duration, before now: Timestamp, session: Timestamp) -> Timestamp {
        let begin = now.advanced(by: .zero - opened - CatchUpTiming.openingMargin)
        return session <= now.advanced(by: CatchUpTiming.replayMargin) ? min(max(begin, session), now) : begin
    }
}
