// SPDX-License-Identifier: Apache-2.0

/// Which receipts a conversation was created without. They are recorded all the same, for the reader's own devices; no other user is told or shown
/// them (docs/conformance.md §5.4).
public struct ReceiptPolicy: OptionSet, Hashable, Sendable {
    /// As the database and the contracts hold it.
    public let rawValue: Int32
    /// Unknown bits mean nothing.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// That a message was delivered is not shown.
    public static let noDelivery = ReceiptPolicy(rawValue: 1)
    /// That a message was read is not shown.
    public static let noRead = ReceiptPolicy(rawValue: 2)
}
