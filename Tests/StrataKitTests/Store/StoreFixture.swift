// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient

@testable import StrataKit

/// An in-memory store of the user `ana`, with short names for test operations.
final class StoreFixture {
    /// The time of the user's actions, in microseconds since 1970.
    static let now: Int64 = 1_525_430_000_000_000

    private(set) var core: StoreCore

    /// - Parameter database: the default is in memory.
    init(policy: SyncPolicy = .unreadOnly, database: (any DatabaseWriter)? = nil) throws {
        let database = try database ?? DatabaseQueue()
        try StoreSchema.migrator.migrate(database)
        core = try StoreCore(database, me: WireJSON.ana, policy: policy)
    }

    /// Simulates a restart of the app.
    func reopen() throws { core = try StoreCore(core.database, me: WireJSON.ana, policy: core.policy) }

    // MARK: Changes

    @discardableResult
    func write<Value>(
        at time: Int64 = StoreFixture.now, _ body: (StoreTransaction) throws -> Value
    ) throws -> StoreCore.Outcome<Value> {
        try core.write(at: time, body)
    }

    @discardableResult
    func apply(at time: Int64 = StoreFixture.now, _ packets: JSONValue...) throws -> StoreCore.Outcome<Void> {
        try write(at: time) { store in for packet in packets { try store.applyPacket(packet) } }
    }

    /// Adds a conversation of `ana` and `ben` at position 1, without messages.
    func addConversation(
        _ id: ConversationID, participants: [UserID] = [WireJSON.ana, WireJSON.ben], metadata: JSONValue = [:]
    ) throws {
        try apply(WireJSON.created(WireJSON.conversation(id, participants: participants, metadata: metadata)))
    }

    /// Adds messages of `ben` at these positions of the conversation, and the counts after the last one.
    func addMessages(_ positions: ClosedRange<Int64>, in id: ConversationID, unread: Int? = nil) throws {
        try write { store in
            for position in positions {
                try store.applyPacket(WireJSON.created(WireJSON.message(.test(Int(position)), in: id, at: position)))
            }
            try store.applyPacket(
                WireJSON.counts(
                    of: id, at: positions.upperBound, unread: unread ?? positions.count, total: positions.count))
        }
    }

    @discardableResult
    func send(
        _ id: MessageID, in conversation: ConversationID, _ text: String = "hello"
    ) throws -> StoreCore.Outcome<Void> {
        try write { try $0.sendMessage(Self.newMessage(id, text), in: conversation) }
    }

    func set(_ path: String, _ value: String, in id: ConversationID) throws {
        try write { try $0.patchMetadata([Self.step(path, value)], in: id) }
    }

    static func newMessage(_ id: MessageID, _ text: String = "hello") -> LocalChange.NewMessage {
        LocalChange.NewMessage(
            id: id,
            parts: [
                PartRecord(
                    id: WireJSON.partID(of: id), mimeType: "text/plain", body: Data(text.utf8), size: text.utf8.count)
            ])
    }

    static func newConversation(
        _ participants: [UserID] = [WireJSON.ana, WireJSON.ben], isDistinct: Bool = false,
        metadata: [String: String] = [:]
    ) -> LocalChange.NewConversation {
        LocalChange.NewConversation(
            participants: participants, isDistinct: isDistinct, deliveryReceipts: true, readReceipts: true,
            metadata: metadata)
    }

    static func step(_ path: String, _ value: String?) -> LocalChange.MetadataStep {
        LocalChange.MetadataStep(path: path, values: value.map { [path: $0] })
    }

    // MARK: Answers of the server

    func attempt(_ operation: QueuedOperation) throws { try write { $0.markAttempted([operation.id]) } }

    /// Simulates a success answer for the operation, with this position of its conversation.
    @discardableResult
    func succeed(
        _ operation: QueuedOperation, at position: Int64? = nil, user: Int64? = nil, object: JSONValue = .null
    ) throws
        -> StoreCore.Outcome<Void>
    {
        try write { store in
            try store.operationSucceeded(
                operation.id, positions: .init(conversation: position, user: user), object: object)
            try store.finishOperations(in: store.queue.all.compactMap(\.conversation), open: nil)
        }
    }

    /// Simulates a permanent refusal of the operation.
    @discardableResult
    func refuse(
        _ operation: QueuedOperation, _ code: StrataError.Code = .invalidMessage
    ) throws -> StoreCore.Outcome<Void> {
        try write { try $0.operationRefused(operation.id, error: StrataError(code, "refused")) }
    }

    /// Returns the code of the error that `body` throws; nil if it does not throw.
    func code(_ body: () throws -> Void) -> StrataError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StrataError)?.code
        }
    }

    // MARK: Reading

    var queue: [QueuedOperation] { core.queue.all }
    var pending: [LocalChange] { queue.map(\.change) }
    /// The names of the pending changes, without receipts.
    var pendingNames: [String] { pending.filter { !$0.isReceipt }.map(\.name) }

    func conversation(_ id: ConversationID) throws -> Conversation? { try core.read { try $0.conversation(id) } }
    func message(_ id: MessageID) throws -> Message? { try core.read { try $0.message(id) } }
    func messages(in id: ConversationID) throws -> [MessageID] { try core.read { try $0.messages(in: id).map(\.id) } }
    func metadata(of id: ConversationID) throws -> [String: String]? { try conversation(id)?.metadata.flattened }
    func participants(of id: ConversationID) throws -> [UserID]? { try conversation(id)?.participantIDs.sorted() }
    func progress(of id: ConversationID) throws -> SyncProgress? { try write { try $0.progress(of: id) }.value }

    /// Returns the content of the database, table by table, to compare states.
    func contents() throws -> [String: [Row]] { try Self.contents(of: core.database) }

    static func contents(of database: any DatabaseReader) throws -> [String: [Row]] {
        try database.read { db in
            let tables = try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
            return try tables.reduce(into: [:]) { $0[$1] = try Row.fetchAll(db, sql: "SELECT * FROM \($1)") }
        }
    }
}

extension ObjectID {
    /// Returns an id that is derived from a number.
    static func test(_ number: Int) -> Self {
        Self(
            rawValue: UUID(
                uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, UInt8(number >> 8 & 0xff), UInt8(number & 0xff)))
        )
    }
}

extension StoreCore.Outcome {
    /// The changes as text, for example `conversation update metadata`.
    var words: [String] { changes.map(\.words) }

    func update(_ name: String) -> PropertyChange? {
        changes.lazy
            .compactMap { change in
                if case .update(let property) = change.kind, property.name == name { property } else { nil }
            }
            .first
    }
}

extension ObjectChange {
    var words: String {
        let object =
            switch object {
            case .conversation: "conversation"
            case .message: "message"
            case .announcement: "announcement"
            case .identity: "identity"
            }
        return switch kind {
        case .create: "\(object) create"
        case .update(let property): "\(object) update \(property.name)"
        case .delete: "\(object) delete"
        }
    }
}
