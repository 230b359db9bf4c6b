// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import GRDB
import StrataModel

enum StoreFile {
    /// Opens the store, and creates it if it does not exist. A damaged store is rebuilt: the readable unsent changes
    /// are copied, and everything else is loaded from the server again.
    /// - Parameters:
    ///   - checkedFirst: the maximum file size in bytes for a full check before use. A larger file is checked in the
    ///     background, so that the app does not wait; if it is damaged, the next opening rebuilds it.
    ///   - boundary: called before and after each statement of each connection.
    /// - Throws: ``StrataError/Code/newerStore``, in which case the file is unchanged; errors of the database.
    static func open(
        _ url: URL, checkedFirst: Int = checkedFirst, atBoundary boundary: (@Sendable () -> Void)? = nil
    ) throws -> DatabasePool {
        // The previous process ended while it replaced a damaged store.
        if exists(rebuilt(url)) { try install(url) }
        // A marked file is checked first, at any size: the process may have ended after the rebuild, before it removed
        // the mark.
        let isMarked = exists(foundDamaged(url))
        let checkedFirst = isMarked ? .max : checkedFirst
        let pool: DatabasePool
        do {
            pool = try openIntact(url, checkedFirst: checkedFirst, boundary: boundary)
        } catch  where isDamage(error) {
            try rebuild(url, boundary: boundary)
            pool = try openIntact(url, checkedFirst: checkedFirst, boundary: boundary)
        }
        // Only remove a mark that existed before: the background check of a large file may have created a new one.
        if isMarked { try? FileManager.default.removeItem(at: foundDamaged(url)) }
        return pool
    }

    /// The maximum file size in bytes for a check before use. Reading 8 MiB takes about 10 ms.
    static let checkedFirst = 8 << 20

    /// Opens the store if the data that the library needs at its start are readable.
    private static func openIntact(
        _ url: URL, checkedFirst: Int, boundary: (@Sendable () -> Void)?
    ) throws -> DatabasePool {
        let size = (try? FileManager.default.attributesOfItem(atPath: path(url))[.size] as? Int) ?? 0
        let pool = try DatabasePool(path: path(url), configuration: configuration(boundary))
        do {
            // Check the version first: this version may not understand a newer store, and would consider it damaged.
            guard try pool.read({ try !StoreSchema.isNewer($0) }) else {
                throw StrataError(
                    .newerStore, "The store \(url.lastPathComponent) was written by a newer version of StrataKit.")
            }
            if size <= checkedFirst { try checkIntegrity(of: pool) }
            try StoreSchema.migrator.migrate(pool)
            _ = try pool.read { try StoredState($0) }
            if size > checkedFirst { checkLater(url) }
            return pool
        } catch {
            try? pool.close()
            throw error
        }
    }

    /// Throws `SQLITE_CORRUPT` if the database is damaged.
    private static func checkIntegrity(of database: some DatabaseReader) throws {
        let problems = try database.read { try String.fetchAll($0, sql: "PRAGMA quick_check(1)") }
        guard problems == ["ok"] else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: problems.first) }
    }

    /// Reads the whole file in the background, and creates a mark beside a damaged file. The check has its own
    /// connection. Otherwise operations on all connections of the pool, such as closing them, would wait for it.
    private static func checkLater(_ url: URL) {
        DispatchQueue.global(qos: .utility)
            .async {
                do {
                    try checkIntegrity(of: readOnly(url))
                } catch  where isDamage(error) {
                    _ = FileManager.default.createFile(atPath: path(foundDamaged(url)), contents: nil)
                } catch {
                    // The file cannot be read at the moment. A later check may succeed.
                }
            }
    }

    private static func configuration(_ boundary: (@Sendable () -> Void)?) -> Configuration {
        var configuration = Configuration()
        configuration.label = "strata"
        configuration.maximumReaderCount = 4
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            if let boundary { db.trace(options: [.statement, .profile]) { _ in boundary() } }
            // If the process ends, no change is lost. A power failure can lose the last changes, but never damages the
            // store.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        return configuration
    }

    /// Returns true if an error during opening means that the file is damaged, rather than temporarily unreadable or
    /// unwritable.
    static func isDamage(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return error is DecodingError }
        // The last of these codes result from a damaged schema, or from a damaged list of migrations.
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH]
            .contains(error.resultCode.primaryResultCode)
    }

    // MARK: Rebuilding

    /// Builds a new store with the unsent changes of the damaged store, and replaces the damaged store with it. The
    /// damaged store is kept until the new one is complete, because the process may end at any moment and the disk may
    /// be full. The next start resumes the work.
    private static func rebuild(_ url: URL, boundary: (@Sendable () -> Void)?) throws {
        let new = url.appendingPathExtension("rebuilding")
        try removeFiles(of: new)
        // Unlike a pool, a queue has a single file, which one rename moves.
        let queue = try DatabaseQueue(path: path(new), configuration: configuration(boundary))
        do {
            try StoreSchema.migrator.migrate(queue)
            try salvage(from: url, into: queue)
        } catch {
            try? queue.close()
            throw error
        }
        try queue.close()
        try FileManager.default.moveItem(at: new, to: rebuilt(url))
        try install(url)
    }

    /// Moves a rebuilt store into place. The log of the damaged store is moved away first, because SQLite would apply
    /// it to the new store.
    private static func install(_ url: URL) throws {
        let damaged = url.appendingPathExtension("damaged")
        for suffix in ["-wal", "-shm", "-journal", ""] {
            let (from, to) = (path(url) + suffix, path(damaged) + suffix)
            guard FileManager.default.fileExists(atPath: from) else { continue }
            if FileManager.default.fileExists(atPath: to) { try FileManager.default.removeItem(atPath: to) }
            try FileManager.default.moveItem(atPath: from, toPath: to)
        }
        try FileManager.default.moveItem(at: rebuilt(url), to: url)
    }

    /// Copies the readable unsent changes and failures from a damaged store.
    private static func salvage(from damaged: URL, into new: DatabaseQueue) throws {
        let rows = readableOperations(of: damaged)
        try new.write { db in
            for row in rows {
                guard let operation = try? StoreCoding.value(QueuedOperation.self, from: row.record),
                    operation.isUnanswered
                else { continue }
                try db.execute(
                    sql: "INSERT OR IGNORE INTO operation (sequence, id, record) VALUES (?, ?, ?)",
                    arguments: [row.sequence, row.id, row.record])
            }
            for row in readableFailures(of: damaged) {
                guard (try? StoreCoding.value(StoredFailure.self, from: row.record)) != nil else { continue }
                try db.execute(sql: "INSERT INTO failure (id, record) VALUES (?, ?)", arguments: [row.id, row.record])
            }
        }
    }

    private struct SavedRow {
        let sequence: Int64
        let id: Data
        let record: String
    }

    /// Reads the failures that are readable; none if the damaged store cannot be opened.
    private static func readableFailures(of damaged: URL) -> [SavedRow] {
        guard let old = try? readOnly(damaged) else { return [] }
        defer { try? old.close() }
        return rows(of: "failure", in: old, "ORDER BY sequence").rows
    }

    private static func readOnly(_ url: URL) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: path(url), configuration: configuration)
    }

    /// Reads the readable operations. It reads from both ends up to an unreadable page; rows between two such pages are
    /// read one by one.
    private static func readableOperations(of damaged: URL) -> [SavedRow] {
        guard let old = try? readOnly(damaged) else { return [] }
        defer { try? old.close() }
        let (first, isWhole) = rows(of: "operation", in: old, "ORDER BY sequence")
        if isWhole { return first }
        let (last, _) = rows(of: "operation", in: old, "ORDER BY sequence DESC")
        let start = (first.last?.sequence ?? 0) + 1
        let end = last.last?.sequence ?? lastSequence(in: old) + 1
        let between = (start..<max(start, end)).prefix(maximumSearchedRows)
            .flatMap { rows(of: "operation", in: old, "WHERE sequence = \($0)").rows }
        return first + between + last.reversed()
    }

    /// The maximum number of rows to try one by one, far above the length of any queue. It prevents a corrupt number
    /// from delaying the app.
    private static let maximumSearchedRows = 100_000

    /// Returns the rows before the first unreadable row. `isWhole`: there was no unreadable row.
    private static func rows(
        of table: String, in old: DatabaseQueue, _ clause: String
    ) -> (rows: [SavedRow], isWhole: Bool) {
        var found: [SavedRow] = []
        do {
            try old.read { db in
                let rows = try Row.fetchCursor(
                    db, sql: "SELECT sequence, id, record FROM \(table) NOT INDEXED \(clause)")
                while let row = try rows.next() {
                    guard let sequence = Int64.fromDatabaseValue(row[0]), let id = Data.fromDatabaseValue(row[1]),
                        let record = String.fromDatabaseValue(row[2]), 0..<MessageRecord.unsent ~= sequence
                    else { continue }
                    found.append(SavedRow(sequence: sequence, id: id, record: record))
                }
            }
            return (found, true)
        } catch {
            return (found, false)
        }
    }

    /// Returns the highest sequence number that the damaged store has assigned; 0 if it cannot be read.
    private static func lastSequence(in old: DatabaseQueue) -> Int64 {
        let value = try? old.read {
            try DatabaseValue.fetchOne($0, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'operation'")
        }
        return value.flatMap { Int64.fromDatabaseValue($0) }.map { min(max($0, 0), MessageRecord.unsent) } ?? 0
    }

    // MARK: Files

    private static func path(_ url: URL) -> String { url.path(percentEncoded: false) }
    private static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: path(url)) }
    /// Returns the URL of the complete new store, before it replaces the damaged one.
    private static func rebuilt(_ url: URL) -> URL { url.appendingPathExtension("rebuilt") }

    /// Returns the URL of the mark: a file that means that the store beside it is damaged.
    private static func foundDamaged(_ url: URL) -> URL { url.appendingPathExtension("found-damaged") }

    private static func removeFiles(of url: URL) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] where FileManager.default.fileExists(atPath: path(url) + suffix)
        {
            try FileManager.default.removeItem(atPath: path(url) + suffix)
        }
    }

    /// Removes the store, and the files of an interrupted rebuilding.
    static func remove(_ url: URL) throws {
        // Remove the rebuilt store first, because the library would install it as the store.
        for name in ["rebuilt", "rebuilding", "damaged", "found-damaged"] {
            try removeFiles(of: url.appendingPathExtension(name))
        }
        try removeFiles(of: url)
    }
}
