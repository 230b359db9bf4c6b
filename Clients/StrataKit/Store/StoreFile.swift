// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import GRDB
import StrataModel

/// The file of a user's store.
enum StoreFile {
    /// Opens the store, and makes it if there is none. A damaged file is put aside; changes that were not sent are taken from it as far as they can be read,
    /// and everything else is loaded again.
    /// - Parameters:
    ///   - checkedFirst: a file of at most so many bytes is read through before it is used. A larger one is read through while it is used: the app need not
    ///     wait for that, and if it is damaged, it is rebuilt when it is opened next time.
    ///   - boundary: called before and after each statement of each connection; nil costs nothing.
    static func open(
        _ url: URL, checkedFirst: Int = checkedFirst, atBoundary boundary: (@Sendable () -> Void)? = nil
    ) throws -> DatabasePool {
        // The process ended while it put the new store in the place of a damaged one.
        if exists(rebuilt(url)) { try install(url) }
        // A marked file is checked first, whatever its size: the process may have ended when it was rebuilt and the mark was still there.
        let checkedFirst = exists(foundDamaged(url)) ? .max : checkedFirst
        let pool: DatabasePool
        do {
            pool = try openIntact(url, checkedFirst: checkedFirst, boundary: boundary)
        } catch  where isDamage(error) {
            try rebuild(url, boundary: boundary)
            pool = try openIntact(url, checkedFirst: checkedFirst, boundary: boundary)
        }
        try? FileManager.default.removeItem(at: foundDamaged(url))
        return pool
    }

    /// Some ten milliseconds' reading.
    static let checkedFirst = 8 << 20

    /// Opens the store if all that the library cannot do without can be read.
    private static func openIntact(_ url: URL, checkedFirst: Int, boundary: (@Sendable () -> Void)?) throws -> DatabasePool {
        let size = (try? FileManager.default.attributesOfItem(atPath: path(url))[.size] as? Int) ?? 0
        let pool = try DatabasePool(path: path(url), configuration: configuration(boundary))
        do {
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

    private static func checkIntegrity(of database: some DatabaseReader) throws {
        let problems = try database.read { try String.fetchAll($0, sql: "PRAGMA quick_check(1)") }
        guard problems == ["ok"] else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: problems.first) }
    }

    /// Reads the file through, and leaves a mark beside a damaged one. On a connection of its own: what the pool does for all its connections, as closing
    /// them, would wait for it.
    private static func checkLater(_ url: URL) {
        DispatchQueue.global(qos: .utility)
            .async {
                do {
                    try checkIntegrity(of: readOnly(url))
                } catch  where isDamage(error) {
                    _ = FileManager.default.createFile(atPath: path(foundDamaged(url)), contents: nil)
                } catch {
                    // The device cannot read now; next time it may.
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
            // After the end of the process nothing is lost; after a failure of power the last changes may be, but the store is whole.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        return configuration
    }

    /// Whether an error while opening says that the file is not what was written to it, rather than that the device cannot read or write now.
    static func isDamage(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return error is DecodingError }
        // The last ones come of a damaged schema, or of a damaged list of the schema's steps.
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH]
            .contains(error.resultCode.primaryResultCode)
    }

    // MARK: Rebuilding

    /// Makes a new store, with what was not sent from the damaged one, and puts it in its place. The process may end at any moment, or the disk be full: the
    /// damaged one is left alone until the new one is complete, and next time this goes on.
    private static func rebuild(_ url: URL, boundary: (@Sendable () -> Void)?) throws {
        let new = url.appendingPathExtension("rebuilding")
        try removeFiles(of: new)
        // A queue, not a pool: then there is one file, which can be renamed as a whole.
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

    /// Puts a rebuilt store in its place. The log of the damaged one goes first: the database library would apply it to the new one.
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

    /// Takes what was not sent from a damaged store.
    private static func salvage(from damaged: URL, into new: DatabaseQueue) throws {
        let rows = readableOperations(of: damaged)
        try new.write { db in
            for row in rows {
                guard let operation = try? StoreCoding.value(QueuedOperation.self, from: row.record), operation.isUnanswered else { continue }
                try db.execute(
                    sql: "INSERT OR IGNORE INTO operation (sequence, id, record) VALUES (?, ?, ?)", arguments: [row.sequence, row.id, row.record])
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

    /// Reads from both ends up to a page that cannot be read, and one by one what may be between two such pages.
    private static func readableOperations(of damaged: URL) -> [SavedRow] {
        guard let old = try? readOnly(damaged) else { return [] }
        defer { try? old.close() }
        let (first, isWhole) = rows(of: "operation", in: old, "ORDER BY sequence")
        if isWhole { return first }
        let (last, _) = rows(of: "operation", in: old, "ORDER BY sequence DESC")
        let start = (first.last?.sequence ?? 0) + 1
        let end = last.last?.sequence ?? lastSequence(in: old) + 1
        let between = (start..<max(start, end)).prefix(mostSearched).flatMap { rows(of: "operation", in: old, "WHERE sequence = \($0)").rows }
        return first + between + last.reversed()
    }

    /// More than any queue holds; a damaged number must not keep the app waiting.
    private static let mostSearched = 100_000

    /// The rows before the first that cannot be read, and whether that is all of them.
    private static func rows(of table: String, in old: DatabaseQueue, _ clause: String) -> (rows: [SavedRow], isWhole: Bool) {
        var found: [SavedRow] = []
        do {
            try old.read { db in
                let rows = try Row.fetchCursor(db, sql: "SELECT sequence, id, record FROM \(table) NOT INDEXED \(clause)")
                while let row = try rows.next() {
                    guard let sequence = Int64.fromDatabaseValue(row[0]), let id = Data.fromDatabaseValue(row[1]),
                        let record = String.fromDatabaseValue(row[2])
                    else { continue }
                    found.append(SavedRow(sequence: sequence, id: id, record: record))
                }
            }
            return (found, true)
        } catch {
            return (found, false)
        }
    }

    private static func lastSequence(in old: DatabaseQueue) -> Int64 {
        let value = try? old.read { try DatabaseValue.fetchOne($0, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'operation'") }
        return value.flatMap { Int64.fromDatabaseValue($0) }.map { min(max($0, 0), .max - 1) } ?? 0
    }

    // MARK: Files

    private static func path(_ url: URL) -> String { url.path(percentEncoded: false) }
    private static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: path(url)) }
    /// A store that is complete and waits to be put in the place of the damaged one.
    private static func rebuilt(_ url: URL) -> URL { url.appendingPathExtension("rebuilt") }

    /// Says that the store beside it is damaged.
    private static func foundDamaged(_ url: URL) -> URL { url.appendingPathExtension("found-damaged") }

    private static func removeFiles(of url: URL) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] where FileManager.default.fileExists(atPath: path(url) + suffix) {
            try FileManager.default.removeItem(atPath: path(url) + suffix)
        }
    }

    /// Removes the store from the device.
    static func remove(_ url: URL) throws {
        // The rebuilt one first: as long as it is there, it is taken for the store.
        for name in ["rebuilt", "rebuilding", "damaged", "found-damaged"] { try removeFiles(of: url.appendingPathExtension(name)) }
        try removeFiles(of: url)
    }
}
