// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

// Result columns of writing functions. The functions in the schema `conversations` (Shared/Schema) define their
// meaning.

/// The result columns of ``CreateConversation``.
struct ConversationCreateColumns: ColumnSet {
    let outcome: Column<String>
    let changedAt: Column<PostgresTimestamp>
    let userPosition: Column<Int64>
    let userCreatedAt: Column<PostgresTimestamp>
    let view: ViewColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        changedAt = try names.column("changed_at")
        userPosition = try names.column("user_position")
        userCreatedAt = try names.column("user_created_at")
        view = try ViewColumns(&names)
    }
}

/// The result columns of ``SendMessage``.
struct MessageSendColumns: ColumnSet {
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let ordinal: Column<Int64>
    let recipients: Column<[String]>
    let uncounted: Column<Int64>
    let hidden: Column<Int64>
    let receiptPolicy: Column<Int64>
    let badContent: Column<UUID>
    let message: MessageColumns
    let kept: HiddenFromColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        ordinal = try names.column("ordinal")
        recipients = try names.column("recipients")
        uncounted = try names.column("uncounted")
        hidden = try names.column("hidden")
        receiptPolicy = try names.column("receipt_policy")
        badContent = try names.column("bad_content")
        message = try MessageColumns(&names, prefix: "m_")
        kept = try HiddenFromColumns(&names)
    }
}

/// The columns of the users from whom a block hides a new message, with their new counts: parallel arrays. Null: none.
struct HiddenFromColumns: ColumnSet {
    private let users: Column<[String]>
    private let uncounted: Column<[Int64]>
    private let hidden: Column<[Int64]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        users = try names.column("hidden_from")
        uncounted = try names.column("number_uncounted")
        hidden = try names.column("number_hidden")
    }

    /// Returns the users and their counts.
    /// - Parameter position: the position of the change.
    func counts(in row: Row, at position: Position) throws(PostgresError) -> [(user: UserID, counts: UserCounts)] {
        guard let users = try row[optional: users] else { return [] }
        let (uncounted, hidden) = (try row[uncounted], try row[hidden])
        guard uncounted.count == users.count, hidden.count == users.count else {
            throw PostgresError(
                code: .decoding, column: "hidden_from", reason: "has another number of elements than what belongs to it"
            )
        }
        return users.indices.map {
            (UserID(trusted: users[$0]), UserCounts(excluded: uncounted[$0], hidden: hidden[$0], position: position))
        }
    }
}

/// The result columns of ``DeleteMessage``.
struct MessageDeleteColumns: ColumnSet {
    let outcome: Column<String>
    let conversation: Column<UUID>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let messageCount: Column<Int64>
    let ordinal: Column<Int64>
    let lastChanged: Column<Bool>
    let counts: UserCountsColumns
    let userPosition: Column<Int64>
    let userCreatedAt: Column<PostgresTimestamp>
    let overrideUser: Column<String>
    let message: MessageColumns
    let former: FormerColumns
    let hiddenFrom: Column<[String]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        conversation = try names.column("conversation_id")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        ordinal = try names.column("ordinal")
        lastChanged = try names.column("last_changed")
        counts = try UserCountsColumns(&names)
        userPosition = try names.column("user_position")
        userCreatedAt = try names.column("user_created_at")
        overrideUser = try names.column("override_user")
        message = try MessageColumns(&names, prefix: "m_")
        former = try FormerColumns(&names)
        hiddenFrom = try names.column("hidden_from")
    }
}

/// The result columns of ``EditParts``.
struct PartsEditColumns: ColumnSet {
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let messageCount: Column<Int64>
    let badContent: Column<UUID>
    let message: MessageColumns
    let hiddenFrom: Column<[String]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        badContent = try names.column("bad_content")
        message = try MessageColumns(&names, prefix: "m_")
        hiddenFrom = try names.column("hidden_from")
    }
}

/// The result columns of ``DeleteConversation``.
struct ConversationDeleteColumns: ColumnSet {
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let messageCount: Column<Int64>
    let userPosition: Column<Int64>
    let userCreatedAt: Column<PostgresTimestamp>
    let upTo: Column<Int64>
    let distinctCleared: Column<Bool>
    let isPartial: Column<Bool>
    let former: FormerColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        userPosition = try names.column("user_position")
        userCreatedAt = try names.column("user_created_at")
        upTo = try names.column("up_to")
        distinctCleared = try names.column("distinct_cleared")
        isPartial = try names.column("is_partial")
        former = try FormerColumns(&names)
    }
}

/// The result columns of ``PatchConversation``: first for the participants, then for the metadata.
struct ConversationPatchColumns: ColumnSet {
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let messageCount: Column<Int64>
    let added: Column<[String]>
    let removed: Column<[String]>
    let distinctCleared: Column<Bool>
    let participants: Column<[String]>
    let conversationCreatedAt: Column<PostgresTimestamp>
    let receiptPolicy: Column<Int64>
    let metadataPosition: Column<Int64>
    let metadataCreatedAt: Column<PostgresTimestamp>
    let effects: Column<String>
    let counts: UserCountsColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        added = try names.column("added")
        removed = try names.column("removed")
        distinctCleared = try names.column("distinct_cleared")
        participants = try names.column("participants")
        conversationCreatedAt = try names.column("conversation_created_at")
        receiptPolicy = try names.column("receipt_policy")
        metadataPosition = try names.column("metadata_position")
        metadataCreatedAt = try names.column("metadata_created_at")
        effects = try names.column("effects")
        counts = try UserCountsColumns(&names)
    }
}

/// The result columns of ``MarkAllRead``.
struct MarkAllReadColumns: ColumnSet {
    let outcome: Column<String>
    let position: Column<Int64>
    let createdAt: Column<PostgresTimestamp>
    let messageCount: Column<Int64>
    let upTo: Column<Int64>
    let uncounted: Column<Int64>
    let hidden: Column<Int64>
    let told: Column<[String]>
    let receipts: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        upTo = try names.column("up_to")
        uncounted = try names.column("uncounted")
        hidden = try names.column("hidden")
        told = try names.column("told")
        receipts = try names.column("receipts")
    }
}

/// The columns of former participants in whose own logs a write appended an entry: parallel arrays of users, positions,
/// and times in microseconds since 1970. Null: none.
struct FormerColumns: ColumnSet {
    private let users: Column<[String]>
    private let positions: Column<[Int64]>
    private let times: Column<[Int64]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        users = try names.column("former_users")
        positions = try names.column("former_positions")
        times = try names.column("former_times")
    }

    /// Returns the notices for the gateways of these users.
    func notices(_ row: Row, in app: AppID) throws(PostgresError) -> [UserNotice] {
        let users = try row[optional: users] ?? []
        return zip(users, zip(try row[optional: positions] ?? [], try row[optional: times] ?? []))
            .map { user, place in
                UserNotice(
                    appID: app, user: UserID(trusted: user),
                    content: .logged(Position(place.0), at: StrataModel.Timestamp(microseconds: place.1)))
            }
    }
}
