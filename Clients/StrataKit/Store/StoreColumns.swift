// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The columns of a table in the order of ``StoreSchema``, for rows with all columns. Looking up a column by name takes
/// several times as long as reading it.
enum ConversationColumn: Int, CaseIterable {
    case id, createdAt, participants, isDistinct, deliveryReceipts, readReceipts, metadata, unreadCount, totalCount,
        isVisible, hasUnread
    case lastMessage, lastSentAt, lastReceivedAt
}

/// The columns of a message; see ``ConversationColumn``.
enum MessageColumn: Int, CaseIterable {
    case id, conversation, ordering, position, sender, senderName, sentAt, receivedAt, updatedAt, isUnread, isSent,
        failure, statuses
    case revision
}

/// The columns of a part; see ``ConversationColumn``.
enum PartColumn: Int, CaseIterable {
    case message, index, id, mimeType, body, size, content, downloadURL, downloadExpires, transferStatus, file, usedAt,
        updatedAt
}

extension Row {
    subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(column: some RawRepresentable<Int>) -> Value
    { self[column.rawValue] }
    subscript<Value: DatabaseValueConvertible>(column: some RawRepresentable<Int>) -> Value { self[column.rawValue] }
}
