// SPDX-License-Identifier: Apache-2.0
import NIOCore
package import StrataWire

/// Packets that are ready to be sent to one or more sockets.
package struct Rendering: Sendable {
    /// The text size from which sockets share one copy in memory.
    package static let sharedBytes = 16 << 10

    package let tails: [PacketTail]
    /// True if at least one text is shared instead of copied.
    package let isLarge: Bool
    /// The memory reserved for shared texts, once for all sockets. nil if all texts are copied.
    package let lease: AnswerBudget.Lease?

    /// - Parameter lease: the lease to use. nil: a new one if a text is shared.
    package init(_ tails: [PacketTail], in budget: AnswerBudget, lease: AnswerBudget.Lease? = nil) {
        self.tails = tails
        isLarge = tails.contains { $0.text.readableBytes >= Self.sharedBytes }
        let bytes = tails.reduce(0) { $0 + $1.text.readableBytes }
        if isLarge {
            lease?.settle(to: bytes)
            self.lease = lease ?? AnswerBudget.Lease(budget, holding: bytes)
        } else {
            lease?.settle(to: 0)
            self.lease = nil
        }
    }
}
