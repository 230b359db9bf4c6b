// SPDX-License-Identifier: Apache-2.0
package import StrataModel
import StrataWire
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
