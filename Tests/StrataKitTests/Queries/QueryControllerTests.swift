// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import TestTiers
import Testing

@testable import StrataKit

@Suite("query controllers", .timeLimit(.minutes(3)))
struct QueryControllerTests {
    @Test(
        "an executed controller has the result, and finds objects by index and indexes by id", .proves("QC-1", "QC-7"))
    func lookup() async throws {
        let live = try LiveQuery(window: -3)
        #expect(await live.controller.count == 0)
        try await live.controller.execute()
        #expect(await live.labels == ["2", "3", "4"])
        #expect(await live.controller.totalNumberOfObjects == 4)
        #expect(await live.controller.numberOfSections == 1)
        #expect(await live.controller.object(at: 1)?.id == Example.message(3))
        #expect(await live.controller.object(at: 3) == nil)
        #expect(await live.controller.object(at: -1) == nil)
        #expect(await live.controller.index(of: Example.message(4)) == 2)
        for (index, message) in await live.controller.objects.enumerated() {
            #expect(await live.controller.index(of: message) == index)
        }
        #expect(await live.controller.index(of: Example.message(1)) == nil)
        #expect(
            await live.controller.indexes(of: [Example.message(1), Example.message(2), Example.message(4)]) == [
                Example.message(2): 0, Example.message(4): 2,
            ])
    }

    @Test("every observer receives store changes in order", .proves("QC-1"))
    func updates() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        let (objects, updates) = await live.controller.observe()
        #expect(objects.map(\.label) == ["1", "2", "3", "4"])
        var (first, second) = (updates.makeAsyncIterator(), await live.controller.updates.makeAsyncIterator())
        try live.change { try live.store.addMessage(5, in: 1, position: 25, from: "ana") }
        #expect(await first.next()?.lines == ["insert 5 2"])
        try live.change { try live.store.update(message: 1, "is_unread = 0") }
        #expect(await first.next()?.lines == ["update 1 0"])
        #expect(await second.next()?.lines == ["insert 5 2"])
        #expect(await second.next()?.lines == ["update 1 0"])
        #expect(await live.controller.objects.first?.isUnread == false)
    }

    @Test("changes that do not affect the result make no update", .proves("QC-3"))
    func unrelated() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        try live.change { try live.store.addMessage(5, in: 2, position: 25, from: "ana") }
        try live.change { try live.store.addMessage(7, in: 1, position: 27, from: "ana") }
        #expect(await updates.next()?.snapshotAfter.map(\.label) == ["1", "2", "7", "3", "4"])
    }

    @Test("a change that cannot affect the result triggers no read", .proves("QC-3"))
    func unread() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        // The notice names another type of object, so this message becomes visible only with the next change.
        try live.change(.announcement) { try live.store.addMessage(6, in: 1, position: 26, from: "ana") }
        try live.change { try live.store.addMessage(7, in: 1, position: 27, from: "ana") }
        #expect(await updates.next()?.snapshotAfter.map(\.label) == ["1", "2", "6", "7", "3", "4"])
    }

    @Test("an object whose sort key changes moves")
    func moves() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        try live.change { try live.store.update(message: 1, "ordering = 99, position = 99") }
        #expect(await updates.next()?.lines == ["update 1 0", "move 1 0 3"])
    }

    @Test("an update reads only changed objects, and all objects when shared data changed")
    func readAgain() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        // A store never changes a row without a new revision. This test does, to show which objects are loaded.
        try live.store.write("UPDATE message SET is_unread = 0")
        try live.change { try live.store.update(message: 1, "is_unread = 0") }
        #expect(await updates.next()?.lines == ["update 1 0"])
        try live.change { try live.store.addMessage(5, in: 1, position: 50, from: "ana") }
        #expect(await updates.next()?.lines == ["insert 5 4"])
        #expect(await live.controller.objects.map(\.isUnread) == [false, true, true, true, false])
        live.change(.identity) {}
        #expect(await updates.next()?.lines == ["update 2 1", "update 3 2", "update 4 3"])
    }

    @Test("a change of shared data during a read triggers a full read too")
    func readAgainLater() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        await live.gate.close()
        try live.change { try live.store.addMessage(5, in: 1, position: 50, from: "ana") }
        await live.gate.arrival()
        try live.change(.identity) {
            try live.store.write(
                "INSERT INTO identity (user_id, display_name, metadata, is_followed, is_full) VALUES ('ana', 'Anna', '{}', 0, 0)"
            )
        }
        await live.gate.open()
        var names: [String?] = []
        while names.first != "Anna", let update = await updates.next() {
            names = update.snapshotAfter.map(\.sender.displayName)
        }
        #expect(names == Array(repeating: "Anna", count: 5))
    }

    @Test("a non-updatable property makes no update, although the object is current", .proves("QC-5"))
    func updatable() async throws {
        let live = try LiveQuery(updatable: [\.position])
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        try live.change { try live.store.write("UPDATE message SET is_unread = 0, revision = random()") }
        try live.change { try live.store.addMessage(5, in: 1, position: 5, from: "ana") }
        #expect(await updates.next()?.lines == ["insert 5 0"])
        #expect(await live.controller.objects.allSatisfy { !$0.isUnread })
    }

    @Test(
        "a wider window inserts objects, a narrower one deletes them, and a grown one keeps its size", .proves("QC-6"))
    func window() async throws {
        let live = try LiveQuery(window: -2)
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        try await live.controller.setPaginationWindow(-3)
        #expect(await updates.next()?.lines == ["insert 2 0"])
        try live.change { try live.store.addMessage(5, in: 1, position: 50, from: "ana") }
        #expect(await updates.next()?.lines == ["insert 5 3"])
        #expect(await live.controller.paginationWindow == -4)
        try await live.controller.setPaginationWindow(1)
        #expect(await updates.next()?.lines == ["delete 5 3", "delete 4 2", "delete 3 1", "delete 2 0", "insert 1 0"])
        #expect(await live.controller.totalNumberOfObjects == 5)
        try await live.controller.setPaginationWindow(nil)
        #expect(await live.labels == ["1", "2", "3", "4", "5"])
        await #expect(throws: StrataError.self) { try await live.controller.setPaginationWindow(0) }
    }

    @Test("a window set during a read is filled when the call returns")
    func windowDuringReading() async throws {
        let live = try LiveQuery(window: 1)
        await live.gate.close()
        async let executed: Void = live.controller.execute()
        await live.gate.arrival()
        async let set: Void = live.controller.setPaginationWindow(3)
        while await live.controller.paginationWindow != 3 { await Task.yield() }
        await live.gate.open()
        _ = try await (executed, set)
        #expect(await live.labels == ["1", "2", "3"])
        #expect(await live.controller.paginationWindow == 3)
    }

    @Test("executing during a read is error 5000; later it reads again and reports the differences", .proves("QC-8"))
    func executeTwice() async throws {
        let live = try LiveQuery()
        await live.gate.close()
        async let first: Void = live.controller.execute()
        await live.gate.arrival()
        let error = await #expect(throws: StrataError.self) { try await live.controller.execute() }
        #expect(error?.code == .queryControllerExecutionFailure)
        await live.gate.open()
        try await first

        var updates = await live.controller.updates.makeAsyncIterator()
        try live.store.addMessage(5, in: 1, position: 50, from: "ana")
        try await live.controller.execute()
        #expect(await updates.next()?.lines == ["insert 5 4"])
    }

    @Test("changes during a read are not lost")
    func changesDuringReading() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        await live.gate.close()
        try live.change { try live.store.addMessage(5, in: 1, position: 50, from: "ana") }
        await live.gate.arrival()
        for number in 6...9 {
            try live.change { try live.store.addMessage(number, in: 1, position: Int64(number) * 10, from: "ana") }
        }
        await live.gate.open()
        var seen: [String] = []
        while seen.count < 5, let update = await updates.next() { seen += update.lines }
        #expect(seen == ["insert 5 4", "insert 6 5", "insert 7 6", "insert 8 7", "insert 9 8"])
    }

    @Test("a failed read keeps the previous result, and the next change retries it")
    func failure() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        try live.store.write("ALTER TABLE message RENAME TO away")
        await #expect(throws: DatabaseError.self) { try await live.controller.execute() }
        #expect(await live.controller.failure != nil)
        #expect(await live.labels == ["1", "2", "3", "4"])
        try live.change {
            try live.store.write("ALTER TABLE away RENAME TO message; DELETE FROM message WHERE position = 10")
        }
        #expect(await updates.next()?.lines == ["delete 1 0"])
        #expect(await live.controller.failure == nil)
    }

    @Test("updates end with the change notifications and with the controller")
    func end() async throws {
        let live = try LiveQuery()
        try await live.controller.execute()
        var updates = await live.controller.updates.makeAsyncIterator()
        live.notices.finish()
        #expect(await updates.next() == nil)
        var late = await live.controller.updates.makeAsyncIterator()
        #expect(await late.next() == nil)

        var other: QueryController<Message>? = try LiveQuery().controller
        try await other?.execute()
        var rest = await other?.updates.makeAsyncIterator()
        other = nil
        #expect(await rest?.next() == nil)
    }
}
