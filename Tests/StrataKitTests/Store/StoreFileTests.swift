// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import GRDB
import ProtocolClient
import Synchronization
import TestTiers
import Testing

@testable import StrataKit

@Suite("the file of a store", .serialized)
final class StoreFileTests {
    private let folder: URL
    private let file: URL
    private let chat = ConversationID.test(1)

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().lowercaseText)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        file = folder.appending(path: "store.sqlite")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func open() throws -> (pool: DatabasePool, store: StoreFixture) {
        let pool = try StoreFile.open(file)
        return (pool, try StoreFixture(database: pool))
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    /// Creates a store with a conversation, messages from the server and an unsent message, and closes it.
    private func fill() throws {
        let (pool, store) = try open()
        try store.addConversation(chat)
        try store.addMessages(2...40, in: chat)
        try store.send(.test(100), in: chat, "unsent")
        try pool.close()
    }

    /// Moves the content of the log into the database file.
    private func writeLog() throws {
        let queue = try DatabaseQueue(path: file.path)
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try queue.close()
    }

    /// Overwrites the pages of these tables in the file.
    private func damage(_ tables: [String]) throws {
        let queue = try DatabaseQueue(path: file.path)
        let (pages, size) = try queue.write { db in
            let names = tables.map { "'\($0)'" }.joined(separator: ", ")
            let roots = try Int.fetchAll(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name IN (\(names))")
            return (roots, try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 4096)
        }
        try queue.close()
        var bytes = try Data(contentsOf: file)
        for page in pages {
            bytes.replaceSubrange((page - 1) * size..<page * size, with: Data(repeating: 0xa5, count: size))
        }
        try bytes.write(to: file)
    }

    @Test(
        "a large file is checked while it is in use, and rebuilt at the next start if damaged", .timeLimit(.minutes(3)))
    func checkedLater() async throws {
        try fill()
        try damage(["message_received"])
        let mark = folder.appending(path: "store.sqlite.found-damaged").path
        do {
            let pool = try StoreFile.open(file, checkedFirst: 0)
            #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM operation") } == 1)
            while !FileManager.default.fileExists(atPath: mark) { try await Task.sleep(for: .milliseconds(5)) }
            try pool.close()
        }
        let (_, store) = try open()
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try store.messages(in: chat) == [.test(100)])
        #expect(!FileManager.default.fileExists(atPath: mark))
    }

    @Test("a store is usable while its file is still being checked for damage")
    func openedWhileRead() throws {
        try fill()
        let pool = try StoreFile.open(file)
        let (isReading, isOpen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        // Reads until the store is open, or for a minute if opening waits for the end of the read.
        let reader = Thread {
            let result = try? pool.read { _ in
                isReading.signal()
                return isOpen.wait(timeout: .now() + 60)
            }
            #expect(result == .success)
            isReading.signal()
        }
        reader.start()
        isReading.wait()
        #expect(try StoreCore(pool, me: WireJSON.ana, policy: .unreadOnly).queue.all.count == 1)
        isOpen.signal()
        isReading.wait()
    }

    @Test("a store marked as damaged opens after the process ended during its rebuilding")
    func markedAndRebuilt() throws {
        try fill()
        try writeLog()
        // The new store is complete, but it is not in place, and the mark still exists.
        try FileManager.default.moveItem(at: file, to: file.appendingPathExtension("rebuilt"))
        try Data("damaged".utf8).write(to: file)
        try Data().write(to: file.appendingPathExtension("found-damaged"))
        let (_, store) = try open()
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try !names.contains("store.sqlite.found-damaged"))
    }

    @Test("written data survives the end of the app", .proves("STORE-1", "OFF-1"))
    func durable() throws {
        try fill()
        let (_, store) = try open()
        #expect(try store.messages(in: chat).count == 40)
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try !names.contains("store.sqlite.damaged"))
    }

    @Test("a reader sees a consistent snapshot during writes", .proves("STORE-2"))
    func reading() throws {
        let (pool, store) = try open()
        try store.addConversation(chat)
        try pool.read { db in
            let reader = StoreReader(db: db, me: WireJSON.ana, contentFolder: nil)
            #expect(try reader.conversation(chat)?.totalMessageCount == 0)
            try store.addMessages(2...3, in: chat)
            #expect(try reader.conversation(chat)?.totalMessageCount == 0)
        }
        #expect(try store.conversation(chat)?.totalMessageCount == 2)
    }

    @Test("a damaged store is put aside, and its unsent changes are restored")
    func damaged() throws {
        try fill()
        try damage(["message", "part"])
        let (_, store) = try open()
        #expect(try names.contains("store.sqlite.damaged"))
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try store.conversation(chat) == nil)
        #expect(store.core.cursor.timestamp == nil)
        try store.addConversation(chat)
        #expect(try store.messages(in: chat) == [.test(100)])
        #expect(try store.conversation(chat)?.lastMessage?.parts.first?.text == "unsent")
    }

    @Test("unconfirmed refused changes are restored from a damaged store too")
    func damagedWithFailures() throws {
        try fill()
        let (pool, before) = try open()
        try before.refuse(before.queue[0])
        try pool.close()
        try damage(["message", "part"])
        let (rebuilt, _) = try open()
        let failures = try rebuilt.read { try StoreReader(db: $0, me: WireJSON.ana, contentFolder: nil).failures() }
        #expect(failures.map(\.operation) == ["sendMessage"])
    }

    @Test("nothing is restored from a store whose queue is damaged too")
    func damagedQueue() throws {
        try fill()
        try damage(["message", "operation"])
        let (_, store) = try open()
        #expect(store.queue.isEmpty)
        try store.addConversation(chat)
        try store.send(.test(101), in: chat)
        #expect(store.pendingNames == ["sendMessage"])
    }

    @Test("a file that is no database is put aside")
    func noDatabase() throws {
        try Data(repeating: 0x41, count: 10_000).write(to: file)
        let (_, store) = try open()
        #expect(store.queue.isEmpty)
        #expect(try names.contains("store.sqlite.damaged"))
        try store.addConversation(chat)
        #expect(try store.conversation(chat) != nil)
    }

    @Test("a queue with a damaged page in its middle keeps the changes before and after that page")
    func damagedMiddle() throws {
        let (pool, store) = try open()
        try store.addConversation(chat)
        for number in 100..<200 { try store.send(.test(number), in: chat, "unsent") }
        try pool.close()
        try emptyLog()
        let lost = try overwritePages(with: MessageID.test(150).rawValue.uuidString)
        #expect(lost >= 1)
        let sequences = try self.open().store.queue.map(\.sequence)
        #expect(sequences.first == 1)
        #expect(sequences.last == 100)
        #expect((50..<100).contains(sequences.count))
    }

    /// Moves the content of the log into the database file.
    private func emptyLog() throws {
        let queue = try DatabaseQueue(path: file.path)
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        try queue.close()
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
    }

    /// Overwrites the pages of the file that contain this text.
    private func overwritePages(with text: String) throws -> Int {
        var (bytes, count) = (try Data(contentsOf: file), 0)
        while let place = bytes.firstRange(of: Data(text.utf8)) {
            let start = place.lowerBound / 4096 * 4096
            bytes.replaceSubrange(start..<start + 4096, with: Data(repeating: 0xa5, count: 4096))
            count += 1
        }
        try bytes.write(to: file)
        return count
    }

    @Test("a store with an unparsable change or synchronization time is put aside", arguments: [true, false])
    func notUnderstood(_ isOperation: Bool) throws {
        try fill()
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { db in
            try db.execute(
                sql: isOperation
                    ? "UPDATE operation SET record = '{'" : "INSERT OR REPLACE INTO state VALUES ('cursor', 'x')")
        }
        try queue.close()
        let (_, store) = try open()
        #expect(store.pendingNames == (isOperation ? [] : ["sendMessage"]))
        #expect(try names.contains("store.sqlite.damaged"))
    }

    @Test("a store with a damaged schema is put aside")
    func damagedSchema() throws {
        try fill()
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { try $0.execute(sql: "UPDATE grdb_migrations SET identifier = identifier || 'x'") }
        try queue.close()
        #expect(try open().store.pendingNames == ["sendMessage"])
        #expect(try names.contains("store.sqlite.damaged"))
    }

    /// Rebuilds a store, and restores the files to their state just before the new store is put in place.
    private func interruptRebuilding(_ body: (URL, URL) throws -> Void) throws {
        try fill()
        try damage(["message", "part"])
        let (pool, _) = try open()
        try pool.close()
        try emptyLog()
        let (rebuilt, damaged) = (file.appendingPathExtension("rebuilt"), file.appendingPathExtension("damaged"))
        try FileManager.default.moveItem(at: file, to: rebuilt)
        try body(rebuilt, damaged)
    }

    @Test("the process may end while a rebuilt store replaces the damaged one", arguments: [true, false])
    func interrupted(_ isDamagedThere: Bool) throws {
        try interruptRebuilding { _, damaged in
            if isDamagedThere { try FileManager.default.moveItem(at: damaged, to: file) }
        }
        let (_, store) = try open()
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try !names.contains { $0.contains("rebuil") })
    }

    @Test("a partially rebuilt store is rebuilt again")
    func halfRebuilt() throws {
        try interruptRebuilding { rebuilt, damaged in
            try FileManager.default.moveItem(at: damaged, to: file)
            try FileManager.default.removeItem(at: rebuilt)
            try Data(repeating: 0x41, count: 5000).write(to: file.appendingPathExtension("rebuilding"))
        }
        let (_, store) = try open()
        #expect(store.pendingNames == ["sendMessage"])
        #expect(try names.contains("store.sqlite.damaged"))
    }

    @Test("a callback marks the boundaries of each statement, the last one after the commit")
    func boundaries() throws {
        let passed = Mutex(0)
        let pool = try StoreFile.open(file) { passed.withLock { $0 += 1 } }
        let opened = passed.withLock { $0 }
        #expect(opened > 0)
        try pool.writeWithoutTransaction { try $0.execute(sql: "BEGIN; INSERT INTO state VALUES ('a', 'b'); COMMIT") }
        #expect(passed.withLock { $0 } == opened + 6)
    }

    @Test(
        "a store of a newer version is refused and kept, even if this version cannot read its queue",
        .proves("STORE-6"), arguments: [true, false])
    func newer(_ isMarked: Bool) throws {
        try fill()
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { db in
            try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('3'), ('4')")
            try db.execute(sql: "ALTER TABLE operation ADD COLUMN lane TEXT; UPDATE operation SET record = '{}'")
        }
        try queue.close()
        if isMarked { try Data().write(to: file.appendingPathExtension("found-damaged")) }
        let error = #expect(throws: StrataError.self) { try StoreFile.open(file) }
        #expect(error?.code == .newerStore)
        #expect(try !names.contains { $0.contains(".damaged") || $0.contains("rebuil") })
        let kept = try DatabaseQueue(path: file.path)
        #expect(try kept.read { try String.fetchAll($0, sql: "SELECT record FROM operation") } == ["{}"])
        #expect(try kept.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM message") } == 40)
        try kept.close()
    }

    @Test("a store is removed with all its files")
    func removed() throws {
        try fill()
        try damage(["message"])
        let (pool, _) = try open()
        try pool.close()
        try StoreFile.remove(file)
        #expect(try names.isEmpty)
    }
}
