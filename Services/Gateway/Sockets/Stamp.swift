// SPDX-License-Identifier: Apache-2.0
import Glibc
import Model
import Wire

/// A time together with its text, so that one turn of the loop writes it out once for all its packets.
struct Stamp {
    let time: Timestamp
    let text: TimestampText
    init(_ time: Timestamp) {
        self.time = time
        text = TimestampText(time)
    }
}

extension Timestamp {
    /// Later than any other.
    static let distantFuture = Timestamp(microseconds: .max)

    /// The wall clock. Order never depends on it (ARCHITECTURE §12).
    static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}
