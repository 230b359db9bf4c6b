// SPDX-License-Identifier: Apache-2.0
import NIOCore
package import StrataModel
package import StrataWire
import Synchronization

/// One change on its way to all sockets of this gateway. The first event loop that needs a variant renders it for all
/// loops.
package final class Delivery: Sendable {
    package let change: Change
    /// True for a new message that is identical for all users except its sender. Such a message needs no lookup for
    /// each reader.
    let isPlainMessage: Bool
    /// True if the change was read from the log. It then carries no counts.
    let isFromLog: Bool
    private let rendered = Mutex<[Variant: Rendering]>([:])

    init(_ change: Change, isFromLog: Bool = false) {
        self.change = change
        self.isFromLog = isFromLog
        if case .messageCreated(_, _, let message?) = change.content, change.hiddenFrom.isEmpty {
            isPlainMessage = message.recipients.allSatisfy { $0.status == .sent || $0.userID == change.actor }
        } else {
            isPlainMessage = false
        }
    }

    /// Returns the packets for `reader`, in order.
    /// - Parameters:
    ///   - includesCounts: false if the counts of the reader are not known at present.
    ///   - budget: counts the bytes of a long text once for all sockets that hold it.
    func rendering(
        for reader: UserID, version: WireVersion, includesCounts: Bool = true, by renderer: Renderer,
        in budget: AnswerBudget
    ) -> Rendering {
        let variant = Variant(of: change, for: reader, version: version, includesCounts: includesCounts)
        return rendered.withLock { rendered in
            if let rendering = rendered[variant] { return rendering }
            let rendering = Rendering(renderer.tails(for: change, variant: variant), in: budget)
            rendered[variant] = rendering
            return rendering
        }
    }
}

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
