// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

/// The local store of one user: a database, and the in-memory queue of pending changes.
///
/// Only one task at a time may use it: ``LocalStore`` serializes writes. Reads use the database directly and never wait
/// for writes.
final class StoreCore {
    let database: any DatabaseWriter
    let me: UserID
    let contentFolder: URL?
    let owner: SnapshotOwner
    private(set) var queue: OutgoingQueue
    private(set) var cursor: SyncCursor
    var policy: SyncPolicy
    private let newID: () -> UUID

    struct Outcome<Value> {
        var value: Value
        var changes: [ObjectChange]
        var findings: SyncFindings
    }

    /// Loads the in-memory state, and deletes drafts of conversations that were never sent.
    /// - Parameters:
    ///   - database: a database with the tables of ``StoreSchema``.
    ///   - newID: creates the ids of changes and conversations.
    init(
        _ database: any DatabaseWriter, me: UserID, policy: SyncPolicy, contentFolder: URL? = nil,
        owner: SnapshotOwner = SnapshotOwner(nil),
        newID: @escaping () -> UUID = { UUID() }
    ) throws {
        self.owner = owner
        self.newID = newID
        self.database = database
        self.me = me
        self.policy = policy
        self.contentFolder = contentFolder
        let stored = try database.read { try StoredState($0) }
        queue = OutgoingQueue(stored.operations, lastSequence: stored.lastSequence)
        cursor = stored.cursor
        let drafts = queue.all.filter { $0.state == .draft }
        if !drafts.isEmpty {
            _ = try write(at: 0) { store in for draft in drafts { try store.removeOperation(draft) } }
        }
        // Make changes visible that were salvaged from a damaged store.
        if stored.cursor == SyncCursor(), !queue.isEmpty {
            _ = try write(at: 0) { store in for operation in store.queue.all { try store.touchTargets(of: operation) } }
        }
    }

    /// Runs one transaction. If it throws, neither the database nor the memory changes.
    /// - Parameter now: the time in microseconds since 1970.
    func write<Value>(at now: Int64, _ body: (StoreTransaction) throws -> Value) throws -> Outcome<Value> {
        var result: (outcome: Outcome<Value>, queue: OutgoingQueue, cursor: SyncCursor)?
        try database.unsafeReentrantWrite { db in
            try db.inTransaction(.immediate) {
                let reader = StoreReader(db: db, me: me, contentFolder: contentFolder, owner: owner)
                let transaction = StoreTransaction(
                    db, reader: reader, queue: queue, cursor: cursor, policy: policy, now: now, newID: newID)
                let value = try body(transaction)
                let changes = try transaction.settle()
                let outcome = Outcome(value: value, changes: changes, findings: transaction.findings)
                result = (outcome, transaction.queue, transaction.cursor)
                return .commit
            }
        }
        guard let result else { throw StrataError(.devicePersistenceFailure, "The transaction did not run.") }
        (queue, cursor) = (result.queue, result.cursor)
        return result.outcome
    }

    func read<Value>(_ body: (StoreReader) throws -> Value) throws -> Value {
        try database.read { db in try body(StoreReader(db: db, me: me, contentFolder: contentFolder, owner: owner)) }
    }
}

/// The part of the store that is also held in memory.
struct StoredState {
    let operations: [QueuedOperation]
    let lastSequence: Int64
    let cursor: SyncCursor

    /// - Throws: `DecodingError` if this library did not write the data.
    init(_ db: Database) throws {
        operations = try String.fetchAll(db, sql: "SELECT record FROM operation ORDER BY sequence")
            .map { try StoreCoding.value(QueuedOperation.self, from: $0) }
        let last = try DatabaseValue.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'operation'")
        lastSequence = last.flatMap { Int64.fromDatabaseValue($0) } ?? 0
        let text = try String.fetchOne(db, sql: "SELECT value FROM state WHERE key = 'cursor'")
        cursor = try text.map { try StoreCoding.value(SyncCursor.self, from: $0) } ?? SyncCursor()
    }
}

/// Read access to a user's store that does not wait for writes.
struct StoreAccess: Sendable {
    let database: any DatabaseWriter
    let me: UserID
    /// The folder for content; nil if the store has none.
    let contentFolder: URL?
    let owner: SnapshotOwner

    func read<Value: Sendable>(_ body: @escaping @Sendable (StoreReader) throws -> Value) async throws -> Value {
        do {
            return try await database.read { db in try body(reader(db)) }
        } catch let error as DatabaseError {
            throw StrataError(
                .devicePersistenceFailure, "The store could not be read: \(error.resultCode)", underlying: [error])
        }
    }

    /// Removes content files that no part refers to. A killed process may have left them.
    /// - Parameter needed: the files of unsent changes.
    func clearContentFolder(except needed: Set<String>) throws {
        guard let contentFolder else { return }
        let inUse = try database.read { db in try reader(db).contentInUse() }
        ContentFolder(existing: contentFolder)
            .removeLeftovers(keeping: inUse.files.union(needed), resumable: inUse.resumable)
    }

    private func reader(_ db: Database) -> StoreReader {
        StoreReader(db: db, me: me, contentFolder: contentFolder, owner: owner)
    }
}
