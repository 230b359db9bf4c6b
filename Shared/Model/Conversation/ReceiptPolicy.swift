// SPDX-License-Identifier: Apache-2.0

/// The receipts that a conversation disables, fixed at its creation. Disabled receipts are still recorded for the
/// reader's own devices, but not shown to other users (docs/conformance.md §5.4).
public struct ReceiptPolicy: OptionSet, Hashable, Sendable {
    /// The bits as stored in the database and sent in the contracts.
    public let rawValue: Int32
    /// Creates a policy. Unknown bits are ignored.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Hides from other users that a message was delivered.
    public static let noDelivery = ReceiptPolicy(rawValue: 1)
    /// Hides from other users that a message was read.
    public static let noRead = ReceiptPolicy(rawValue: 2)
}
