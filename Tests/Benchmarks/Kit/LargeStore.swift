// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// A writer of conversations and messages into a store's file, in the form in which StrataKit stores those of a server.
struct LargeStore {
    private let path: String
    private let user: String

    /// - Parameter folder: A directory in which a client has created a single store.
    init(folder: URL, user: String) throws {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        guard let file = files?.compactMap({ $0 as? URL }).first(where: { $0.pathExtension == "sqlite" }) else {
            throw BenchProblem("there is no store in \(folder.lastPathComponent)")
        }
        path = file.path(percentEncoded: false)
        self.user = user
    }

    /// Fills the store with the same number of messages in each conversation, the newest one unread.
    func fill(conversations: Int, messages: Int) throws {
        let database = try DatabaseQueue(path: path)
        let each = messages / conversations
        try database.write { db in
            for number in 0..<conversations { try write(conversation: number, messages: each, to: db) }
        }
        try database.close()
    }

    private func id(_ kind: UInt8, _ number: Int) -> Data {
        var id = Data([kind])
        withUnsafeBytes(of: UInt64(number).bigEndian) { id.append(contentsOf: [UInt8](repeating: 7, count: 7) + $0) }
        return id
    }

    /// Returns a time in microseconds since 1970. Conversations are interleaved in time.
    private func time(_ conversation: Int, _ message: Int) -> Int64 {
        1_790_000_000_000_000 + Int64(message) * 60_000_000 + Int64(conversation)
    }

    private func write(conversation number: Int, messages: Int, to db: Database) throws {
        let (conversation, friend) = (id(1, number), "friend\(number % 1000)")
        let participants = [friend, user].sorted()
        let last = number * messages + messages - 1
        try db.cachedStatement(
            sql: """
                INSERT INTO conversation (id, created_at, participants, is_distinct, delivery_receipts, read_receipts, metadata, unread_count,
                    total_count, is_visible, has_unread, last_message, last_sent_at, last_received_at)
                VALUES (?, ?, ?, 0, 1, 1, '{"title":"Trip"}', 1, ?, 1, 1, ?, ?, ?)
                """
        )
        .execute(arguments: [
            conversation, time(number, 0), participants.joined(separator: "\n"), messages, id(2, last),
            time(number, messages),
            time(number, messages),
        ])
        for name in participants {
            try db.cachedStatement(sql: "INSERT INTO participant (user_id, conversation) VALUES (?, ?)")
                .execute(arguments: [name, conversation])
            try db.cachedStatement(
                sql:
                    "INSERT OR IGNORE INTO identity (user_id, display_name, metadata, is_followed, is_full) VALUES (?, ?, '{}', 0, 0)"
            )
            .execute(arguments: [name, name.capitalized])
        }
        try db.cachedStatement(
            sql: "INSERT INTO conversation_sync (id, applied, oldest, goal, generation) VALUES (?, ?, 0, NULL, 1)"
        )
        .execute(arguments: [conversation, messages + 1])
        for message in 0..<messages {
            try write(
                message: number * messages + message, place: message, isUnread: message == messages - 1, from: friend,
                in: conversation, number, db)
        }
    }

    private func write(
        message: Int, place: Int, isUnread: Bool, from sender: String, in conversation: Data, _ number: Int,
        _ db: Database
    ) throws {
        let position = Int64(place + 2) * 8192
        try db.cachedStatement(
            sql: """
                INSERT INTO message (id, conversation, ordering, position, sender, sent_at, received_at, is_unread, is_sent, statuses)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?)
                """
        )
        .execute(arguments: [
            id(2, message), conversation, position, position, sender, time(number, place + 1), time(number, place + 1),
            isUnread,
            "\(isUnread ? 2 : 3)\(user)",
        ])
        let body = Data("This is message \(message), which says nothing of importance.".utf8)
        try db.cachedStatement(
            sql:
                "INSERT INTO part (message, idx, id, mime_type, body, size, transfer_status) VALUES (?, 0, ?, 'text/plain', ?, ?, 2)"
        )
        .execute(arguments: [id(2, message), id(3, message), body, body.count])
    }
}
