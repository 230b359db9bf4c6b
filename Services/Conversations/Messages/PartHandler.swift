// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the call that changes the parts of a message.
struct PartHandler: CallHandler {
    private let support: ServiceContext
    private var database: Database { support.database }

    /// The maximum number of attempts when concurrent edits win.
    private static let attempts = 8

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.editParts) { try await self.editParts($0, in: $1) }
    }

    private func editParts(
        _ request: ProtoEditPartsRequest, in context: RPCContext
    ) async throws -> ProtoEditPartsResponse {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        let id = try MessageID(contract: request.messageID)
        return try await support.idempotent(caller) {
            // The database does not know the format of parts. Read them, change them here, and write them if they are
            // unchanged in the database.
            for _ in 0..<Self.attempts {
                switch try await editOnce(id, as: request, for: caller) {
                case .done(let answer): return answer
                case .repetition: return nil
                case .stale: continue
                }
            }
            throw Failure.unavailable
        } answer: { earlier in
            try await answer(earlier, of: id, to: request, for: caller)
        }
    }

    private enum Attempt {
        case done(ProtoEditPartsResponse)
        /// Another request changed the parts meanwhile.
        case stale
        /// The edit was carried out before, or another request is carrying it out.
        case repetition
    }

    /// Answers a repetition with the message in its present state. The part that the first request added or replaced
    /// may have another index, or may have been removed.
    private func answer(
        _ earlier: IdempotencyRecord, of id: MessageID, to request: ProtoEditPartsRequest, for caller: Caller
    ) async throws -> ProtoEditPartsResponse {
        // A removed part is not shown.
        if case .remove = request.edit { return .with { $0.place = ProtoChangePlace(earlier.place) } }
        let rows = try await database.run(
            GetMessage(app: caller.app, user: caller.user, message: id), deadline: caller.deadline)
        guard let found = rows.first?.message else { throw Failure.notFound("message") }
        let parts = found.content.parts
        var index: Int?
        switch request.edit {
        case .add(let part): index = parts.firstIndex { $0.id == earlier.object ?? UUID(contract: part.id) }
        case .replace(let replacement):
            index =
                if let part = earlier.object {
                    parts.firstIndex { $0.id == part }
                } else {
                    PartEditor.find(replacement.part, in: parts)
                }
        case .replaceAll, .remove, nil: index = 0
        }
        guard let index else { throw Failure.notFound("message part") }
        let identities = try await support.directory.basic(found.users, in: caller.app, deadline: caller.deadline)
        return .with {
            $0.message = ProtoMessage(found.message(identities))
            $0.index = Int32(clamping: index)
            $0.place = ProtoChangePlace(earlier.place)
        }
    }

    /// Reads the message, edits its parts, and writes them unless another edit was committed meanwhile.
    private func editOnce(
        _ id: MessageID, as request: ProtoEditPartsRequest, for caller: Caller
    ) async throws -> Attempt {
        let found = try await database.run(
            GetMessage(app: caller.app, user: caller.user, message: id), deadline: caller.deadline)
        guard let message = found.first?.message else { throw Failure.notFound("message") }
        let content = message.content
        if request.hasConversationID, try message.conversationID != ConversationID(contract: request.conversationID) {
            throw Failure.notFound("message")
        }
        guard caller.isServer || content.sender == caller.user else {
            throw Failure.accessDenied("Only its sender can change a message.")
        }
        let identities = try await support.directory.basic(message.users, in: caller.app, deadline: caller.deadline)

        // The time must be later than that of the preceding change, even if the clock was set back.
        let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let time = StrataModel.Timestamp(microseconds: max(now, (content.updatedAt ?? content.sentAt).microseconds + 1))
        let editor = try PartEditor(content.parts, applying: request.edit, at: time, limit: support.partsLimit)
        guard !editor.edits.isEmpty else {
            guard let place = try await support.recordNoEffect(caller, in: message.conversationID) else {
                return .repetition
            }
            return .done(answer(message.message(identities), after: editor, at: place))
        }
        return try await write(editor, over: content.storedParts, to: id, at: time, naming: identities, for: caller)
    }

    private func write(
        _ editor: PartEditor, over stored: [UInt8], to id: MessageID, at time: StrataModel.Timestamp,
        naming identities: [UserID: BasicIdentity],
        for caller: Caller
    ) async throws -> Attempt {
        var parts = editor.parts
        let contents = parts.compactMap(\.contentID)
        if !contents.isEmpty {
            try await support.measure(&parts, by: caller.user, in: caller.app, deadline: caller.deadline)
        }
        let query = EditParts(
            app: caller.app, user: caller.user, message: id, stored: stored, parts: try MessageParts.encode(parts),
            edits: try OperationsJSON.edits(editor.edits),
            time: PostgresTimestamp(time), contents: contents, origin: caller.origin)
        guard let written = try await support.write(query, for: caller) else { return .repetition }
        let row = written.row
        if row.outcome == "stale" { return .stale }
        try Refusal.check(row.outcome, what: "message")
        if row.outcome == "unknown_content", let content = row.badContent {
            throw MessageParts.unsendable(content, in: parts)
        }
        guard let edited = row.message else { throw Failure.notFound("message") }
        guard let place = row.place, let messageCount = row.messageCount else { throw Failure.unexpected }
        let message = edited.message(identities)
        support.publisher.publish([
            caller.change(
                in: message.conversationID, at: place.position, createdAt: place.createdAt,
                messageCount: messageCount,
                content: .partsChanged(id: id, ordinal: message.ordinal, editor.edits, message),
                hiddenFrom: row.hiddenFrom ?? [])
        ])
        return .done(answer(message, after: editor, at: written.place ?? LogPosition(position: place.position)))
    }

    private func answer(
        _ message: StrataModel.Message, after editor: PartEditor, at place: LogPosition
    ) -> ProtoEditPartsResponse {
        .with {
            $0.place = ProtoChangePlace(place)
            $0.message = ProtoMessage(message)
            $0.index = Int32(clamping: editor.index)
        }
    }
}

/// Applies one edit to a message's parts (docs/conformance.md §6.7). It is a pure value and stores nothing.
struct PartEditor {
    /// The parts after the edit.
    private(set) var parts: [MessagePart]
    /// The edits that changed something. Empty: the parts are unchanged.
    private(set) var edits: [Change.PartEdit] = []
    /// The index of the added or replaced part.
    private(set) var index = 0
    private let time: Timestamp

    /// - Parameters:
    ///   - parts: the parts before the edit.
    ///   - time: the time of the edit, for the parts that it changes.
    ///   - limit: the maximum number of parts after the edit.
    /// - Throws: `not_found` for a missing part, `invalid_operation` for the removal of the last one,
    ///   `invalid_property` for exceeded limits.
    init(
        _ parts: [MessagePart], applying edit: ProtoEditPartsRequest.OneOf_Edit?, at time: Timestamp,
        limit: Int = Limits.partsPerMessage
    ) throws {
        self.parts = parts
        self.time = time
        switch edit {
        case .add(let part): try add(try MessagePart(part))
        case .replace(let replacement): try replace(try find(replacement.part), by: try MessagePart(replacement.by))
        case .remove(let reference): try remove(try find(reference))
        case .replaceAll(let all):
            try replaceAll(try all.parts.map { part throws(ContractViolation) in try MessagePart(part) })
        case nil: throw ContractViolation("EditPartsRequest.edit")
        }
        try checkLimits(limit)
    }

    private func find(_ reference: ProtoPartReference) throws -> Int {
        guard let found = Self.find(reference, in: parts) else { throw Failure.notFound("message part") }
        return found
    }

    /// Returns the index of the referenced part, or nil.
    static func find(_ reference: ProtoPartReference, in parts: [MessagePart]) -> Int? {
        let found: Int?
        switch reference.reference {
        case .id(let bytes): found = UUID(contract: bytes).flatMap { id in parts.firstIndex { $0.id == id } }
        case .index(let index): found = parts.indices.contains(Int(index)) ? Int(index) : nil
        case nil: found = nil
        }
        return found
    }

    private mutating func add(_ part: MessagePart) throws {
        guard !parts.contains(where: { $0.id == part.id }) else {
            throw Failure.invalid("id", reason: "is the id of another part of the message")
        }
        var part = part
        part.updatedAt = time
        index = parts.count
        parts.append(part)
        edits = [.added(part.id)]
    }

    private mutating func replace(_ place: Int, by part: MessagePart) throws {
        index = place
        var part = part
        part.id = parts[place].id
        part.updatedAt = parts[place].updatedAt
        guard part != parts[place] else { return }
        part.updatedAt = time
        parts[place] = part
        edits = [.changed(part.id)]
    }

    private mutating func remove(_ place: Int) throws {
        guard parts.count > 1 else { throw Failure(.invalidOperation, "The last part of a message cannot be removed.") }
        edits = [.removed(parts[place].id, index: place)]
        parts.remove(at: place)
    }

    private mutating func replaceAll(_ new: [MessagePart]) throws {
        var new = new
        for index in new.indices {
            // An unchanged part keeps its time.
            let before = parts.first { $0.id == new[index].id }
            new[index].updatedAt = before?.updatedAt
            if new[index] != before { new[index].updatedAt = time }
        }
        guard new != parts else { return }
        parts = new
        edits = [.allReplaced]
    }

    private func checkLimits(_ limit: Int) throws {
        guard !parts.isEmpty else { throw Failure.invalid("parts", reason: "must have at least one element") }
        guard parts.count <= limit else { throw Failure.invalid("parts", reason: "would be more than \(limit)") }
        let inline = parts.reduce(0) { $0 + ($1.contentID == nil ? $1.size : 0) }
        guard inline <= Limits.inlineMessageBytes else {
            throw Failure.invalid(
                "parts", reason: "would have more than \(Limits.inlineMessageBytes) bytes in their bodies together")
        }
    }
}
