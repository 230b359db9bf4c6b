// SPDX-License-Identifier: Apache-2.0
package import StrataModel
package import StrataWire

/// A timestamp with its text, so that one event-loop turn formats it once for all packets.
package struct Stamp {
    package let time: Timestamp
    package let text: TimestampText
    package init(_ time: Timestamp) {
        self.time = time
        text = TimestampText(time)
    }
}

extension Timestamp {
    /// The latest representable time.
    package static let distantFuture = Timestamp(microseconds: .max)
}
