// SPDX-License-Identifier: Apache-2.0
package import StrataModel
package import StrataWire

/// A time together with its text, so that one turn of the loop writes it out once for all its packets.
package struct Stamp {
    package let time: Timestamp
    package let text: TimestampText
    package init(_ time: Timestamp) {
        self.time = time
        text = TimestampText(time)
    }
}

extension Timestamp {
    /// Later than any other.
    package static let distantFuture = Timestamp(microseconds: .max)
}
