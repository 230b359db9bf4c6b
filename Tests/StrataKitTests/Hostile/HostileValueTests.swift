// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel
import TestTiers
import Testing

@testable import ProtocolClient
@testable import StrataKit

/// Regression tests: each of these values once ended the process, stopped the synchronization or exhausted the memory.
@Suite("values that no server sends")
struct HostileValueTests {
    static let numbers: [Int64] = [.min, -8192, -1, 1 << 49, 1 << 62, .max]
    private let chat = ConversationID.test(1)

    private func store() throws -> StoreFixture {
        let store = try StoreFixture()
        try store.addConversation(chat)
        try store.addMessages(2...4, in: chat)
        return store
    }

    // MARK: Positions

    @Test("a deletion up to an impossible position changes nothing", .proves("SYNC-74"), arguments: numbers)
    func deletion(_ position: Int64) throws {
        let store = try store()
        var packet = WireJSON.deleted(chat, .myDevices, upTo: 1)
        packet["body"]["data"]["from_position"] = .integer(position)
        // The message of this transaction is not in the database yet.
        try store.apply(WireJSON.created(WireJSON.message(.test(5), in: chat, at: 5)), packet)
        #expect(try store.messages(in: chat).count == (position == 1 << 49 ? 0 : 4))
        #expect(try store.conversation(chat) != nil)
    }

    @Test("a read up to an impossible position changes nothing", .proves("SYNC-74"), arguments: numbers)
    func allRead(_ position: Int64) throws {
        let store = try store()
        var packet = WireJSON.allRead(chat, by: WireJSON.ana, upTo: 1, at: 6)
        packet["body"]["data"]["position"] = .integer(position)
        try store.apply(WireJSON.created(WireJSON.message(.test(5), in: chat, at: 5)), packet)
        #expect(try store.message(.test(5))?.isUnread == (position != 1 << 49))
    }

    @Test("a user may be added at the first or at an impossible position", .proves("SYNC-74"), arguments: numbers + [0])
    func newcomer(_ position: Int64) throws {
        let store = try store()
        try store.apply(
            WireJSON.created(WireJSON.message(.test(5), in: chat, at: 5)),
            WireJSON.updated(chat, at: position, WireJSON.add(WireJSON.cleo)))
        #expect(try store.messages(in: chat).count == 4)
    }

    @Test("an impossible position of the own log hides no later change", .proves("SYNC-74"), arguments: numbers)
    func ownLog(_ position: Int64) throws {
        let store = try store()
        try store.apply(WireJSON.counts(of: chat, user: position, unread: 0, total: 3))
        let name = WireJSON.change(
            "create", "Identity", WireJSON.cleo.layerID, user: 8, WireJSON.identity(WireJSON.cleo, name: "Cleo"))
        try store.apply(name)
        #expect(try store.core.read { try $0.identity(WireJSON.cleo).displayName } == "Cleo")
        #expect(store.core.cursor.userPosition == 8)
    }

    @Test("an answer with an impossible position ends its change", .proves("SYNC-74"), arguments: numbers)
    func answer(_ position: Int64) throws {
        let header = RESTResponse.Header(name: "Strata-Position", value: "\(position)")
        guard case .success(_, let positions) = ServerAnswer(RESTResponse(status: 200, headers: [header], body: Data()))
        else {
            throw StrataError(.unknown, "no success")
        }
        #expect(positions == .init())
    }

    // MARK: Sizes

    @Test(
        "an impossible content size counts as 0", .proves("SYNC-74"),
        arguments: [.min, -1, (1 << 53) + 1, .max] as [Int64])
    func size(_ size: Int64) {
        let part: JSONValue = [
            "id": .string(WireJSON.partLayerID(UUID(), of: .test(1))), "mime_type": "text/plain",
            "size": .integer(size),
        ]
        #expect(WireObjects.part(part)?.size == 0)
    }

    @Test("sums of sizes do not overflow", .proves("SYNC-74"))
    func sums() {
        let files = (0..<4)
            .map { DiskPlan.File(name: "f\($0)", size: $0 == 0 ? .min : .max, usedAt: Int64($0), isOnServer: true) }
        #expect(DiskPlan(files: files, capacity: 1000).deletions.map(\.name) == ["f0", "f1"])
        let transfers = [TransferProgress(total: .max), TransferProgress(total: .max), TransferProgress(total: .min)]
        for transfer in transfers { transfer.update(completed: .max) }
        #expect(AggregateProgress(transfers).total == .max)
        #expect(AggregateProgress(transfers).fraction == 1)
        #expect([Int.max, 1].clampedSum == .max)
    }

    // MARK: Metadata

    @Test("invalid metadata paths are ignored", .proves("SYNC-74"), arguments: [33, 512, 30_000])
    func deepPath(_ depth: Int) throws {
        let store = try store()
        let path = Array(repeating: "a", count: depth).joined(separator: ".")
        try store.apply(
            WireJSON.created(WireJSON.conversation(chat, at: 9, metadata: [path: "x", "b": "y"])),
            WireJSON.updated(
                chat, at: 10, WireJSON.set("metadata.\(path)", "x"), WireJSON.set("metadata.c", [path: "x"]),
                WireJSON.delete("metadata.\(path)")))
        #expect(try store.metadata(of: chat) == ["b": "y"])
        let deepest = Array(repeating: "a", count: 32).joined(separator: ".")
        try store.apply(WireJSON.updated(chat, at: 11, WireJSON.set("metadata.\(deepest)", "x")))
        #expect(try store.metadata(of: chat) == ["b": "y", deepest: "x"])
    }

    @Test("a tree of maximum JSON depth is ignored, and parsed on a small stack", .proves("SYNC-74"))
    func deepTree() async throws {
        let text = String(repeating: "{\"a\":", count: 512) + "\"x\"" + String(repeating: "}", count: 512)
        // The stack size of secondary threads on Apple platforms.
        let values: [String: String] = await withCheckedContinuation { continuation in
            let thread = Thread {
                continuation.resume(returning: WireObjects.texts((try? JSONValue(parsing: text)) ?? "not read"))
            }
            #if DEBUG
            // Stack frames of debug builds are several times as large.
            thread.stackSize = 8 << 20
            #else
            thread.stackSize = 512 << 10
            #endif
            thread.start()
        }
        #expect(values == [:])
    }

    // MARK: Constraints of the store

    @Test("a participant who is listed twice exists once", .proves("SYNC-74"))
    func twice() throws {
        let store = try store()
        try store.apply(
            WireJSON.created(
                WireJSON.conversation(chat, at: 9, participants: [WireJSON.ana, WireJSON.ben, WireJSON.ben])))
        #expect(try store.participants(of: chat) == [WireJSON.ana, WireJSON.ben])
    }

    @Test("an announcement may have the UUID of a message", .proves("SYNC-74"))
    func oneUUID() throws {
        let store = try store()
        let id = AnnouncementID(rawValue: MessageID.test(2).rawValue)
        try store.apply(WireJSON.change("create", "Announcement", id.layerID, user: 1, WireJSON.announcement(id)))
        #expect(try store.core.read { try $0.shownAnnouncement(id) } != nil)
        #expect(try store.message(.test(2)) != nil)
    }
}
