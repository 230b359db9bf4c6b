// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient

/// The tables of the local store. Released migrations never change; a change of the tables is a new migration.
///
/// `conversation`, `message` and `part` hold the visible state: the server's state with the user's pending changes
/// applied. For objects with pending changes, `conversation_server`, `message_server` and `identity_server` hold the
/// server's state.
enum StoreSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: first) }
        migrator.registerMigration("2") {
            try $0.execute(sql: "ALTER TABLE identity ADD COLUMN is_blocked INTEGER NOT NULL DEFAULT 0")
        }
        return migrator
    }

    /// Returns true if a newer version of the library has changed the tables. Such a store has all migrations of this
    /// version, and one with a higher number.
    static func isNewer(_ db: Database) throws -> Bool {
        let (known, made) = (migrator.migrations, try migrator.appliedIdentifiers(db))
        return made.isSuperset(of: known) && made.contains { Int($0) ?? 0 > known.count }
    }

    private static let first = """
        CREATE TABLE conversation (
            id BLOB PRIMARY KEY NOT NULL,
            created_at INTEGER NOT NULL,           -- microseconds since 1970, as all times
            participants TEXT NOT NULL,            -- user ids in byte order, one a line: the exact set can be compared
            is_distinct INTEGER NOT NULL,
            delivery_receipts INTEGER NOT NULL,
            read_receipts INTEGER NOT NULL,
            metadata TEXT NOT NULL,                -- JSON
            unread_count INTEGER NOT NULL,         -- on this device or not
            total_count INTEGER NOT NULL,
            is_visible INTEGER NOT NULL,           -- 0: not sent yet, or to be deleted
            has_unread INTEGER NOT NULL,           -- the rest follows from the messages on this device
            last_message BLOB,
            last_sent_at INTEGER,
            last_received_at INTEGER
        ) STRICT;
        CREATE INDEX conversation_last_received ON conversation (last_received_at, id) WHERE is_visible;
        CREATE INDEX conversation_last_sent ON conversation (last_sent_at, id) WHERE is_visible;
        CREATE INDEX conversation_created ON conversation (created_at, id) WHERE is_visible;
        CREATE INDEX conversation_participants ON conversation (participants) WHERE is_distinct;
        CREATE INDEX conversation_last_message ON conversation (last_message);

        CREATE TABLE participant (
            user_id TEXT NOT NULL,
            conversation BLOB NOT NULL REFERENCES conversation ON DELETE CASCADE,
            PRIMARY KEY (user_id, conversation)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX participant_conversation ON participant (conversation);

        CREATE TABLE conversation_server (
            id BLOB PRIMARY KEY NOT NULL,
            record TEXT NOT NULL                   -- ConversationRecord as JSON
        ) STRICT;

        CREATE TABLE conversation_sync (
            id BLOB PRIMARY KEY NOT NULL,
            applied INTEGER NOT NULL,              -- the change up to which the object is applied
            oldest INTEGER, \
                               -- from this position of messages on all are here; null: none are known to be
            goal TEXT,                             -- HistoryGoal as JSON: which older messages are still to be fetched
            generation INTEGER NOT NULL            -- of the listing that showed it last
        ) STRICT;

        CREATE TABLE message (
            id BLOB PRIMARY KEY NOT NULL,
            conversation BLOB NOT NULL,
            ordering INTEGER NOT NULL, \
                    -- the position; of messages that are not sent, a number above all positions
            position INTEGER,
            sender TEXT,                           -- user id; null for a sender that is no user
            sender_name TEXT,                      -- of a sender that is no user
            sent_at INTEGER NOT NULL,
            received_at INTEGER NOT NULL,
            updated_at INTEGER,
            is_unread INTEGER NOT NULL,
            is_sent INTEGER NOT NULL,
            failure TEXT,                          -- StoredError as JSON
            statuses TEXT NOT NULL, \
                       -- a line for each recipient: one digit, the RecipientStatus, and the user id
            revision INTEGER NOT NULL DEFAULT (random()) \
         -- another number after each change of the message or of its parts
        ) STRICT;
        CREATE INDEX message_order ON message (conversation, ordering, id);
        CREATE INDEX message_unread ON message (conversation) WHERE is_unread;
        CREATE INDEX message_received ON message (received_at);
        CREATE INDEX message_sender ON message (sender);

        CREATE TABLE message_server (
            id BLOB PRIMARY KEY NOT NULL,
            conversation BLOB NOT NULL,
            position INTEGER NOT NULL,
            record TEXT NOT NULL                   -- MessageRecord as JSON
        ) STRICT;
        CREATE INDEX message_server_conversation ON message_server (conversation, position);

        CREATE TABLE part (
            message BLOB NOT NULL,                 -- or announcement
            idx INTEGER NOT NULL,
            id BLOB NOT NULL,
            mime_type TEXT NOT NULL,
            body BLOB,                             -- of parts stored with the message
            size INTEGER NOT NULL,
            content BLOB,                          -- id of content kept beside the message
            download_url TEXT,
            download_expires INTEGER,
            transfer_status INTEGER NOT NULL,      -- ContentTransferStatus
            file TEXT,                             -- name of the file with the content, in the store's content folder
            used_at INTEGER,                       -- when the content was last read
            updated_at INTEGER,
            PRIMARY KEY (message, idx)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX part_id ON part (id);
        CREATE INDEX part_content ON part (content) WHERE content IS NOT NULL;
        CREATE INDEX part_file ON part (file) WHERE file IS NOT NULL;

        CREATE TABLE identity (
            user_id TEXT PRIMARY KEY NOT NULL,
            display_name TEXT,
            first_name TEXT,
            last_name TEXT,
            email_address TEXT,
            phone_number TEXT,
            avatar_url TEXT,
            public_key TEXT,
            metadata TEXT NOT NULL,                -- JSON
            is_followed INTEGER NOT NULL,
            is_full INTEGER NOT NULL,              -- 0: known from a message or a list of participants only
            presence_status TEXT,
            last_seen_at INTEGER
        ) STRICT;

        CREATE TABLE identity_server (
            user_id TEXT PRIMARY KEY NOT NULL,
            record TEXT NOT NULL                   -- IdentityRecord as JSON
        ) STRICT;

        CREATE TABLE announcement (
            id BLOB PRIMARY KEY NOT NULL,
            position INTEGER NOT NULL,
            sender TEXT,
            sender_name TEXT,
            sent_at INTEGER NOT NULL,
            received_at INTEGER NOT NULL,
            is_unread INTEGER NOT NULL,
            is_visible INTEGER NOT NULL,           -- 0: to be deleted
            server_unread INTEGER NOT NULL         -- what the server said, without pending changes
        ) STRICT;
        CREATE INDEX announcement_position ON announcement (position);

        CREATE TABLE operation (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE,
            record TEXT NOT NULL                   -- QueuedOperation as JSON
        ) STRICT;

        CREATE TABLE failure (                     -- refused changes that the app has not confirmed
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL,
            record TEXT NOT NULL                   -- StoredFailure as JSON
        ) STRICT;

        CREATE TABLE alias (
            id BLOB PRIMARY KEY NOT NULL, \
                 -- of a distinct conversation made here, which another user had made already
            conversation BLOB NOT NULL             -- the id it has now
        ) STRICT;

        CREATE TABLE listed (                      -- what the listing under way has shown
            kind INTEGER NOT NULL,                 -- 0: identity, 1: announcement
            id BLOB NOT NULL,
            PRIMARY KEY (kind, id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE state (
            key TEXT PRIMARY KEY NOT NULL,
            value TEXT NOT NULL
        ) STRICT;
        """
}

/// The encoding of values in text columns.
enum StoreCoding {
    /// Encodes texts by key path with sorted keys, so that equal metadata have equal encodings.
    static func text(_ strings: [String: String]) -> String { JSONValue.object(strings.mapValues { .string($0) }).text }

    /// Decodes the output of ``text(_:)``.
    static func strings(_ text: String) -> [String: String] {
        guard text != "{}", let members = (try? JSONValue(parsing: text))?.object else { return [:] }
        return members.compactMapValues(\.string)
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Decodes the output of ``json(_:)``.
    static func value<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }
}
