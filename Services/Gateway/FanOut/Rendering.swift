// SPDX-License-Identifier: Apache-2.0
import NIOCore
package import StrataWire

/// Packets that are ready to be sent, to one socket or to many.
package struct Rendering: Sendable {
    /// A text of so many bytes is not copied for each socket: all that wait for it share its memory.
    package static let sharedBytes = 16 << 10

    package let tails: [PacketTail]
    /// Whether one of them is not copied.
    package let isLarge: Bool
    /// The room that their texts take, once for all who hold them; nil for short ones, which are copied.
    package let lease: AnswerBudget.Lease?

    /// - Parameter lease: nil: a new one, if there is something to be held.
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
