// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Postgres
public import StrataModel

// The types of the model that are columns.

extension PostgresColumn where Self: ObjectID {
    /// Wraps a `uuid`.
    public init(column: UUID) { self.init(rawValue: column) }
}

extension AppID: PostgresColumn, PostgresArrayElement {}
extension ConversationID: PostgresColumn {}
extension MessageID: PostgresColumn, PostgresArrayElement {}
extension AnnouncementID: PostgresColumn {}
extension ContentID: PostgresColumn {}
extension WebhookID: PostgresColumn {}

extension UserID: PostgresColumn, PostgresArrayElement {
    /// Wraps a `text`.
    public init(column: String) { self.init(trusted: column) }
}

extension Position: PostgresColumn, PostgresArrayElement {
    /// Wraps an `int8`.
    public init(column: Int64) { self.init(column) }
    /// Decodes the number.
    public init(from decoder: any Decoder) throws { self.init(column: try Int64(from: decoder)) }
}

extension ReceiptPolicy: PostgresColumn {
    /// Wraps an integer.
    public init(column: Int64) { self.init(rawValue: Int32(truncatingIfNeeded: column)) }
    /// Decodes the number.
    public init(from decoder: any Decoder) throws { self.init(column: try Int64(from: decoder)) }
}

extension StrataModel.Timestamp: PostgresColumn {
    /// Wraps a `timestamptz`.
    public init(column: PostgresTimestamp) { self.init(microseconds: column.microseconds) }
}
