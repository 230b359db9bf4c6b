// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

extension StoreReader {
    /// Returns a part of a message or announcement.
    /// - Parameter message: nil for a part of an announcement.
    func partRecord(_ id: UUID, of message: MessageID?) throws -> PartRecord? {
        guard let message else {
            let query = "SELECT * FROM part WHERE id = ? AND message IN (SELECT id FROM announcement)"
            return try db.cachedStatement(sql: query).one([id.data], in: db) { Self.partRecord($0) }
        }
        return try db.cachedStatement(sql: "SELECT * FROM part WHERE id = ? AND message = ?")
            .one([id.data, message.blob], in: db) { Self.partRecord($0) }
    }

    /// Returns the parts with this content, in their visible state.
    func parts(with content: ContentID) throws -> [MessagePart] {
        try db.cachedStatement(
            sql: """
                SELECT part.*, message.id IS NOT NULL AS is_message
                FROM part LEFT JOIN message ON message.id = part.message WHERE content = ?
                """
        )
        .all([content.blob], in: db) { row in
            part(
                Self.partRecord(row), index: row["idx"],
                of: row["is_message"] ? MessageID(rawValue: row["message"]) : nil)
        }
    }

    /// Returns a part of an unsent message.
    func part(_ id: UUID, of message: MessageID) throws -> MessagePart? {
        try self.message(message)?.parts.first { $0.id == id }
    }

    struct ContentFile {
        /// The id of the content; nil while its upload is pending.
        var content: ContentID?
        var file: DiskPlan.File
    }

    /// Returns all content files on this device. Content of unsent messages counts as missing on the server, because
    /// the server may delete it.
    func contentFiles() throws -> [ContentFile] {
        try db.cachedStatement(
            sql: """
                SELECT part.file, max(part.content), max(part.size), max(coalesce(part.used_at, 0)),
                    min(part.content IS NOT NULL AND coalesce(message.is_sent, 1))
                FROM part LEFT JOIN message ON message.id = part.message WHERE part.file IS NOT NULL GROUP BY part.file
                """
        )
        .all([], in: db) { row in
            let content: UUID? = row[1]
            return ContentFile(
                content: content.map { ContentID(rawValue: $0) },
                file: DiskPlan.File(name: row[0], size: row[2], usedAt: row[3], isOnServer: row[4]))
        }
    }

    func unusedFiles(among names: Set<String>) throws -> [String] {
        try names.filter { name in
            try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM part WHERE file = ?)")
                .one([name], in: db) { $0[0] as Bool } != true
        }
    }

    /// Returns content that was never on this device, newest messages first.
    /// - Parameters:
    ///   - size: the maximum size of the content in bytes.
    ///   - limit: the maximum number of results.
    ///   - isWanted: filters the parts.
    func neverDownloaded(
        upTo size: Int, limit: Int, isWanted: (PartRecord) -> Bool
    ) throws -> [(part: PartRecord, sentAt: Int64)] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT part.*, message.sent_at AS sent_at FROM part JOIN message ON message.id = part.message
                    WHERE part.content IS NOT NULL AND part.transfer_status = ? AND part.used_at IS NULL
                        AND part.size <= ?
                    ORDER BY message.sent_at DESC, part.idx
                    """), arguments: [ContentTransferStatus.readyForDownload.rawValue, size])
        var found: [(part: PartRecord, sentAt: Int64)] = []
        while found.count < limit, let row = try rows.next() {
            let part = Self.partRecord(row)
            if isWanted(part) { found.append((part, row["sent_at"])) }
        }
        return found
    }

    /// Returns the names of all files that parts refer to, and the content whose download can be resumed.
    func contentInUse() throws -> (files: Set<String>, resumable: Set<ContentID>) {
        let files = try db.cachedStatement(sql: "SELECT DISTINCT file FROM part WHERE file IS NOT NULL")
            .all([], in: db) { $0[0] as String }
        let contents =
            try db.cachedStatement(sql: "SELECT DISTINCT content FROM part WHERE content IS NOT NULL AND file IS NULL")
            .all([], in: db) { ContentID(rawValue: $0[0]) }
        return (Set(files), Set(contents))
    }
}
