// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import Postgres
import RPC
import SwiftProtobuf

/// Answers the call that changes the parts of a message.
struct PartCalls: Sendable {
    private let support: CallSupport
    private var database: Database { support.database }

    /// How often an edit starts anew because somebody else was faster.
    private static let attempts = 8

    init(_ support: CallSupport) { self.support = support }

    /// Adds the method to `router`.
    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.editParts) { try await self.edit($0, $1) }
    }

    private func edit(_ request: ProtoEditPartsRequest, _ context: RPCContext) async throws -> ProtoEditPartsResponse {
        let caller = try Caller(app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil, context)
        let id = try MessageID(contract: request.messageID)
        // The database knows nothing of parts: they are read, changed here, and written if they are still the same.
        for _ in 0..<Self.attempts {
            if let answer = try await editOnce(id, request, caller) { return answer }
        }
        throw Failure.unavailable
    }

    /// - Returns: nil if the parts were changed meanwhile.
    private func editOnce(_ id: MessageID, _ request: ProtoEditPartsRequest, _ caller: Caller) async throws -> ProtoEditPartsResponse? {
        let found = try await database.run(
            .messageGet, [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue)], deadline: caller.deadline)
        guard let row = found.first else { throw Failure.notFound("message") }
        var cursor = RowCursor(row)
        guard let message = try MessageRow(&cursor) else { throw Failure.notFound("message") }
        guard message.sender == caller.user else { throw Failure.accessDenied("Only its sender can change a message.") }
        let stored = try row.get(MessageRow.partsColumn, as: [UInt8].self)
        let identities = try await support.directory.basic([message.sender], in: caller.app, deadline: caller.deadline)

        // Never earlier than the change before it, whatever the clock says.
        let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let time = Model.Timestamp(microseconds: max(now, (message.updatedAt ?? message.sentAt).microseconds + 1))
        let editor = try PartEditor(message.parts, request.edit, at: time, limit: support.partsLimit)
        guard !editor.edits.isEmpty else { return answer(message.message(identities), editor) }
        return try await write(editor, over: stored, to: id, at: time, identities, caller)
    }

    private func write(
        _ editor: PartEditor, over stored: [UInt8], to id: MessageID, at time: Model.Timestamp, _ identities: [UserID: BasicIdentity],
        _ caller: Caller
    ) async throws -> ProtoEditPartsResponse? {
        var parts = editor.parts
        let contents = parts.compactMap(\.contentID)
        if !contents.isEmpty { try await support.measure(&parts, by: caller, deadline: caller.deadline) }
        let rows = try await database.runAlone(
            .partsEdit,
            [
                .uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue), .bytes(stored), .bytes(try MessageParts.encode(parts)),
                .jsonb(try OperationsJSON.edits(editor.edits)), .timestamp(Postgres.Timestamp(time)), .uuidArray(contents.map(\.rawValue)),
            ] + caller.originValues, for: caller)
        var cursor = RowCursor(try support.row(rows))
        let outcome: String = try cursor.next()
        if outcome == "stale" { return nil }
        try Refusal.check(outcome, what: "message")
        if outcome == "unknown_content" {
            cursor.skip(3)
            throw MessageParts.unsendable(ContentID(rawValue: try cursor.next()), in: parts)
        }
        let (position, createdAt, messageCount) = (try cursor.position(), try cursor.time(), try cursor.next(Int64.self))
        cursor.skip(1)
        guard let row = try MessageRow(&cursor) else { throw Failure.notFound("message") }
        let message = row.message(identities)
        support.publisher.publish([
            caller.change(
                message.conversationID, at: position, createdAt, messageCount: messageCount,
                .partsChanged(id: id, ordinal: message.ordinal, editor.edits, message))
        ])
        return answer(message, editor)
    }

    private func answer(_ message: Model.Message, _ editor: PartEditor) -> ProtoEditPartsResponse {
        .with {
            $0.message = ProtoMessage(message)
            $0.index = Int32(clamping: editor.index)
        }
    }
}
