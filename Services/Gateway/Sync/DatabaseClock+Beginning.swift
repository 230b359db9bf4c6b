// SPDX-License-Identifier: Apache-2.0
import FanOut
import StrataModel

extension DatabaseClock {
    /// From when on a socket is told what its client did not ask for: some time before it opened, but not before its session was made. A session that was made
    /// at a time that has not come yet was made before the clock was set back.
    static func beginning(opened: Duration, before now: Timestamp, session: Timestamp) -> Timestamp {
        let begin = now.advanced(by: .zero - opened - Socket.openingMargin)
        return session <= now.advanced(by: Socket.replayMargin) ? min(max(begin, session), now) : begin
    }
}
