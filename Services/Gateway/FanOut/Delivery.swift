// SPDX-License-Identifier: Apache-2.0
package import StrataModel
import StrataWire
import Synchronization

/// One change on its way to all sockets of this gateway: rendered once for each variant, whichever loop asks first.
package final class Delivery: Sendable {
    package let change: Change
    /// Whether this is a new message with nothing special for any reader: all users but its sender see it alike, so that no user has to be looked up.
    let isPlainMessage: Bool
    /// It did not arrive by itself, and does not say which numbers it made.
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

    /// The packets for `reader`, in order.
    /// - Parameters:
    ///   - includesNumbers: false for a reader whose numbers are not known at present.
    ///   - budget: in which long texts count once, however many sockets they wait for.
    func rendering(
        for reader: UserID, version: WireVersion, includesNumbers: Bool = true, by renderer: Renderer, in budget: AnswerBudget
    ) -> Rendering {
        let variant = Variant(of: change, for: reader, version: version, includesNumbers: includesNumbers)
        return rendered.withLock { rendered in
            if let rendering = rendered[variant] { return rendering }
            let rendering = Rendering(renderer.tails(for: change, variant: variant), in: budget)
            rendered[variant] = rendering
            return rendering
        }
    }
}
