// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
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
        Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded()))
    }
}
