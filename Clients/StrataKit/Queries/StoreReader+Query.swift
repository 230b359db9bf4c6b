// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

extension StoreReader {
    func execute<Element>(_ query: Query<Element>) throws -> [Element] { try load(compile(query).rows()).map(\.object) }

    func ids<Element>(_ query: Query<Element>) throws -> [Element.ID] {
        let source = Element.querySource
        return try Array(Row.fetchCursor(db, SQLRequest<Row>(literal: try compile(query).ids())).map(source.id))
    }

    func count<Element>(_ query: Query<Element>) throws -> Int { try count(compile(query)) }

    /// Returns the page of a query's result that a controller shows.
    /// - Parameters:
    ///   - window: the requested part of the result.
    ///   - shown: the previously shown ids, in order. The window grows if objects were inserted between them; without
    ///     `shown` it does not grow.
    ///   - known: objects that are not loaded again if their revision is unchanged.
    func page<Element>(
        _ query: Query<Element>, window: ResultWindow, shown: [Element.ID],
        known: [Element.ID: ReadObject<Element>] = [:]
    ) throws -> ResultPage<Element> {
        let compiled = try compile(query)
        var window = window
        guard window.length != nil else {
            let objects = try load(compiled, slice: .init(), known: known)
            return ResultPage(objects: objects, totalCount: objects.count, window: window)
        }
        let total = try count(compiled)
        if !shown.isEmpty {
            window.grow(shown: shown, places: try places(of: Set(shown), in: compiled, fromEnd: window.isAtEnd))
        }
        let range = window.range(in: total)
        let objects = try load(compiled, slice: .init(offset: range.lowerBound, limit: range.count), known: known)
        return ResultPage(objects: objects, totalCount: total, window: window)
    }

    /// Returns the indexes of these objects in the result, counted from one of its ends. Objects outside the result are
    /// omitted.
    private func places<Element>(
        of wanted: Set<Element.ID>, in compiled: CompiledQuery<Element>, fromEnd: Bool
    ) throws -> [Element.ID: Int] {
        let source = Element.querySource
        // A result with a limit can only be read from its first object.
        let isTurned = fromEnd && compiled.limit != nil
        let rows = try Row.fetchCursor(
            db, SQLRequest<Row>(literal: compiled.ids(.init(isReversed: fromEnd && !isTurned))))
        var (places, count): ([Element.ID: Int], Int) = ([:], 0)
        while isTurned || places.count < wanted.count, let row = try rows.next() {
            let id = source.id(row)
            if wanted.contains(id) { places[id] = count }
            count += 1
        }
        return isTurned ? places.mapValues { count - 1 - $0 } : places
    }

    func compile<Element>(_ query: Query<Element>) throws -> CompiledQuery<Element> {
        try QueryCompiler(me: me) { try resolve($0) }.compile(query)
    }

    private func count<Element>(_ compiled: CompiledQuery<Element>) throws -> Int {
        try SQLRequest<Int>(literal: compiled.count).fetchOne(db) ?? 0
    }

    /// Loads a range of the result. Most live queries already know all objects except one or two.
    private func load<Element>(
        _ compiled: CompiledQuery<Element>, slice: CompiledQuery<Element>.Slice,
        known: [Element.ID: ReadObject<Element>]
    ) throws -> [ReadObject<Element>] {
        let source = Element.querySource
        guard let column = source.revisionColumn, !known.isEmpty else { return try load(compiled.rows(slice)) }
        var (ids, missing): ([Element.ID], [DatabaseValue]) = ([], [])
        let rows = try Row.fetchCursor(db, SQLRequest<Row>(literal: compiled.revisions(column, in: slice)))
        while let row = try rows.next() {
            let id = source.id(row)
            ids.append(id)
            if known[id]?.revision != row[1] as Int64 { missing.append(row[0]) }
        }
        guard missing.count <= ids.count / 2, missing.count <= Self.mostMissing else {
            return try load(compiled.rows(slice))
        }
        let read: [ReadObject<Element>] = missing.isEmpty ? [] : try load(compiled.rows(withIDs: missing))
        let objects = Dictionary(read.map { ($0.object.id, $0) }) { first, _ in first }
        return ids.compactMap { objects[$0] ?? known[$0] }
    }

    /// The maximum number of objects to load by their ids. With more missing objects, the whole range is loaded.
    private static let mostMissing = 500

    private func load<Element: Queryable>(_ sql: SQL) throws -> [ReadObject<Element>] {
        let source = Element.querySource
        let rows = try SQLRequest<Row>(literal: sql).fetchAll(db)
        let objects = try source.load(self, rows)
        guard source.revisionColumn != nil else { return objects.map { ReadObject(object: $0, revision: nil) } }
        return zip(objects, rows).map { ReadObject(object: $0, revision: $1[$1.count - 1]) }
    }
}

struct ReadObject<Element: Queryable>: Sendable {
    var object: Element
    /// The revision; nil for types without revisions.
    var revision: Int64?
}

struct ResultPage<Element: Queryable>: Sendable {
    var objects: [ReadObject<Element>]
    var totalCount: Int
    var window: ResultWindow
}

/// Batch loading: one statement for each type of related object, instead of one for each object.
extension StoreReader {
    /// Returns those of the conversations that are visible, in any order.
    func visibleConversations(_ ids: [ConversationID]) throws -> [Conversation] {
        var found: [Row] = []
        try rows("SELECT * FROM conversation WHERE is_visible AND id IN", keys: ids.map(\.blob)) {
            found.append($0.copy())
        }
        return try conversations(found)
    }

    /// Returns the conversations of these rows, with their participants and newest messages.
    func conversations(_ rows: [Row]) throws -> [Conversation] {
        let records = rows.map(Self.conversationRecord)
        let last = try messageRecords(rows.compactMap { row -> UUID? in row[ConversationColumn.lastMessage] })
        let users = records.reduce(into: Set(last.values.compactMap(\.sender))) { $0.formUnion($1.participants) }
        let identities = try identities(of: users)
        return zip(rows, records)
            .map { row, record in
                let lastID: UUID? = row[ConversationColumn.lastMessage]
                let lastRecord = lastID.flatMap { id in last[id] }
                return conversation(
                    record, participants: Set(record.participants.map { identities[$0] ?? Identity(userID: $0) }),
                    lastMessage: lastRecord.map { message($0, identities: identities) },
                    hasUnread: row[ConversationColumn.hasUnread])
            }
    }

    func messages(_ records: [MessageRecord]) throws -> [Message] {
        let parts = try partRecords(of: records.map(\.id.rawValue))
        let identities = try identities(of: Set(records.compactMap(\.sender)))
        return records.map { record in
            var record = record
            record.parts = parts[record.id.rawValue] ?? []
            return message(record, identities: identities)
        }
    }

    func announcements(_ records: [AnnouncementRecord]) throws -> [Announcement] {
        let parts = try partRecords(of: records.map(\.id.rawValue))
        let identities = try identities(of: Set(records.compactMap(\.sender)))
        return records.map { record in
            var record = record
            record.parts = parts[record.id.rawValue] ?? []
            return announcement(record, sender: sender(record.sender, name: record.senderName, identities: identities))
        }
    }

    func messagePart(_ row: Row) -> MessagePart {
        part(Self.partRecord(row), index: row["idx"], of: MessageID(rawValue: row["message"]))
    }

    private func message(_ record: MessageRecord, identities: [UserID: Identity]) -> Message {
        message(record, sender: sender(record.sender, name: record.senderName, identities: identities))
    }

    private func sender(_ user: UserID?, name: String?, identities: [UserID: Identity]) -> Identity {
        user.map { identities[$0] ?? Identity(userID: $0) } ?? Self.sender(named: name)
    }

    // MARK: Rows by key

    private func messageRecords(_ ids: [UUID]) throws -> [UUID: MessageRecord] {
        var records: [UUID: MessageRecord] = [:]
        try rows("SELECT * FROM message WHERE id IN", keys: ids.map(\.data)) { row in
            let record = Self.messageRecord(row)
            records[record.id.rawValue] = record
        }
        for (id, parts) in try partRecords(of: ids) { records[id]?.parts = parts }
        return records
    }

    private func partRecords(of owners: [UUID]) throws -> [UUID: [PartRecord]] {
        var records: [UUID: [PartRecord]] = [:]
        // The rows are in primary key order, so the parts of each message are in order.
        try rows("SELECT * FROM part WHERE message IN", keys: owners.map(\.data), order: "ORDER BY message, idx") {
            row in
            records[row[PartColumn.message], default: []].append(Self.partRecord(row))
        }
        return records
    }

    private func identities(of users: Set<UserID>) throws -> [UserID: Identity] {
        var identities: [UserID: Identity] = [:]
        try rows("SELECT * FROM identity WHERE user_id IN", keys: users.map(\.rawValue)) { row in
            let record = Self.identityRecord(row)
            identities[record.userID] = Self.identity(record)
        }
        return identities
    }

    /// Reads the rows with these keys, up to 500 per statement. Statements for up to four keys are cached, because they
    /// are used often.
    private func rows(
        _ select: String, keys: [some DatabaseValueConvertible & Sendable], order: String = "", read: (Row) -> Void
    ) throws {
        for start in stride(from: 0, to: keys.count, by: 500) {
            let some = keys[start..<min(start + 500, keys.count)]
            let sql = "\(select) (\(databaseQuestionMarks(count: some.count))) \(order)"
            let statement = some.count <= 4 ? try db.cachedStatement(sql: sql) : try db.makeStatement(sql: sql)
            let rows = try Row.fetchCursor(statement, arguments: StatementArguments(some))
            while let row = try rows.next() { read(row) }
        }
    }
}
