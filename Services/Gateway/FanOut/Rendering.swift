// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Wire

/// Packets that are ready to be sent, to one socket or to many.
struct Rendering: Sendable {
    /// A text of so many bytes is not copied for each socket: all that wait for it share its memory.
    static let sharedBytes = 16 << 10

    let tails: [PacketTail]
    /// Whether one of them is not copied.
    let isLarge: Bool
    /// The room that their texts take, once for all who hold them; nil for short ones, which are copied.
    let lease: AnswerBudget.Lease?

    /// - Parameter lease: nil: a new one, if there is something to be held.
    init(_ tails: [PacketTail], _ budget: AnswerBudget, lease: AnswerBudget.Lease? = nil) {
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
