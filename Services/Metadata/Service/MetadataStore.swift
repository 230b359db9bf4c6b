// SPDX-License-Identifier: Apache-2.0

import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

/// The statements of the service. The functions of schema `metadata` (Shared/Schema) document their guarantees.
struct MetadataStore: Sendable {
    /// The pool for short patches. A transaction contains a group of them.
    let shared: PostgresPool
    /// The pool that runs each statement alone in its transaction: large patches, which can take long, and lookups of
    /// idempotency keys.
    let exclusive: PostgresPool
    let limits: MetadataLimits
    /// The apps for which changes are recorded for webhooks; nil for none.
    var recordedApps: RecordedApps?

    struct Committed: Sendable {
        /// The change; nil if the patch changed nothing, or was committed earlier with the same idempotency key.
        var change: Change?
        /// The log position of the change, or of the earlier change with the same idempotency key. If nothing changed:
        /// - with a key: the latest position of the conversation that the actor receives,
        /// - without a key: ``LogPosition/empty``.
        var place: LogPosition
    }

    /// Commits a patch, once if it has an idempotency key.
    /// - Throws: ``StrataModel/Failure``; any other error indicates a bug.
    func commit(_ patch: MetadataPatch, deadline: ContinuousClock.Instant) async throws -> Committed {
        try await IdempotencyRecord.idempotent(patch.idempotencyKey, until: deadline) {
            try await carryOut(patch, deadline: deadline)
        } find: { idempotencyKey in
            let rows: [IdempotencyRecord.Find.Row]
            do throws(PostgresError) {
                rows = try await exclusive.query(
                    IdempotencyRecord.Find(idempotencyKey, of: patch.actor, in: patch.app), deadline: deadline)
            } catch {
                throw error.refusal
            }
            return try IdempotencyRecord(rows, of: idempotencyKey)
        } answer: { earlier in
            Committed(place: earlier.place)
        }
    }

    /// Commits a small patch in a shared transaction, and a large one in its own. A patch that turns out to be large is
    /// repeated in its own transaction.
    /// - Returns: nil if the patch was committed earlier with the same idempotency key, or if another request is
    ///   committing it.
    private func carryOut(_ patch: MetadataPatch, deadline: ContinuousClock.Instant) async throws -> Committed? {
        var query = PatchMetadata(
            app: patch.app, conversation: patch.conversation, actor: patch.actor,
            operations: MetadataJSON.encode(patch.operations),
            origin: patch.origin, maxTreeKeys: limits.keys, maxTreeBytes: limits.bytes,
            isShared: !patch.operations.isLarge)
        var answer = try await write(query, of: patch, deadline: deadline)
        // The patch must be repeated alone in its transaction.
        if query.isShared, answer?.row.outcome == "large" {
            query.isShared = false
            answer = try await write(query, of: patch, deadline: deadline)
        }
        guard let written = answer else {
            if patch.idempotencyKey == nil { throw MalformedAnswer() }
            return nil
        }
        let change = try committedChange(written.row, of: patch)
        return Committed(change: change, place: written.place ?? LogPosition(position: change?.position))
    }

    /// Runs the statement in one of the pools.
    /// - Returns: nil in the cases of ``carryOut(_:deadline:)``.
    private func write(
        _ query: PatchMetadata, of patch: MetadataPatch, deadline: ContinuousClock.Instant
    ) async throws -> WriteResult<PatchMetadata.Row>? {
        let (statement, parameters) = query.statement(
            by: patch.actor, in: patch.app, as: patch.idempotencyKey,
            isRecorded: recordedApps?.mayHaveHooks(patch.app) ?? false)
        let pool = query.isShared ? shared : exclusive
        let rows: Rows
        do {
            rows = try await pool.query(
                statement, with: parameters, lockKey: UInt64(hashing: patch.conversation.rawValue), deadline: deadline)
        } catch {
            throw error.refusal
        }
        return try WriteResult(rows, isNamed: patch.idempotencyKey != nil)
    }

    /// Returns the change that a patch caused; nil if it changed nothing.
    /// - Throws: the ``StrataModel/Failure`` of a refused patch; ``MalformedAnswer`` for an unknown outcome.
    private func committedChange(_ row: PatchMetadata.Row, of patch: MetadataPatch) throws -> Change? {
        switch row.outcome {
        case "ok": break
        case "none": return nil
        case "not_found": throw Failure.notFound("conversation")
        case "deleted": throw Failure(.objectDeleted, "The conversation has been deleted.")
        case "access_denied": throw Failure.accessDenied("You are not a participant of this conversation any more.")
        case "too_many_keys": throw limits.tooManyKeys
        case "too_large": throw limits.tooLarge
        default: throw MalformedAnswer()
        }
        guard let change = row.change else { throw MalformedAnswer() }
        return Change(
            appID: patch.app, conversationID: patch.conversation, position: change.position,
            createdAt: change.createdAt, actor: patch.actor.isAppServer ? nil : patch.actor, origin: patch.origin,
            messageCount: change.messageCount, counts: [:],
            content: .metadataChanged(try MetadataJSON.effects(change.effects)))
    }
}

/// An answer that the database functions never give. It indicates a bug in Strata.
struct MalformedAnswer: Error {}

/// The statement that applies a patch to a conversation's metadata, within the limits of the resulting tree.
struct PatchMetadata: WriteQuery {
    let app: AppID
    let conversation: ConversationID
    /// The participant who patches, or the app's server, which may patch any conversation.
    let actor: UserID
    /// The operations as JSON.
    let operations: String
    /// The connection and request that caused the change; nil unless a socket did.
    let origin: Change.Origin?
    /// The maximum number of keys in the resulting tree; nil: no limit.
    let maxTreeKeys: Int?
    /// The maximum size of the resulting tree in bytes; nil: no limit.
    let maxTreeBytes: Int?
    /// True if the transaction contains statements of other callers. A patch that would write many rows is then
    /// refused.
    var isShared: Bool

    static let statement = WriteStatement(
        "metadata.patch", columns: "r.outcome, r.position, r.created_at, r.message_count, r.effects",
        function: "metadata.patch",
        arguments: [
            "$1::uuid", "$2::uuid", "$3::text", "$4::jsonb", "$5::int8", "$6::int8", "$7::int8", "$8::int8",
            "$9::boolean",
        ],
        record: WriteStatement.RecordExpressions(conversation: "$2::uuid", position: "r.position"))

    var parameters: [Value] {
        [
            .uuid(app.rawValue), .uuid(conversation.rawValue), actor.isAppServer ? .null : .text(actor.rawValue),
            .jsonb(operations),
            Value(origin?.connection), Value(origin?.request), Value(maxTreeKeys), Value(maxTreeBytes), .bool(isShared),
        ]
    }

    struct Row: Decodable {
        /// - `ok`: the tree has changed.
        /// - `none`: nothing changed.
        /// - `large`: refused, because the patch would write too many rows for a shared transaction.
        /// - `not_found`, `deleted`: refused, because the conversation does not exist, or was deleted.
        /// - `access_denied`: refused, because the actor is not a participant.
        /// - `too_many_keys`, `too_large`: refused, because the resulting tree would exceed a limit.
        let outcome: String
        let change: Change?

        struct Change: Decodable {
            let position: Position
            let createdAt: StrataModel.Timestamp
            /// The number of messages the conversation has had after this change, deleted ones included.
            let messageCount: Int64
            /// The changed values as JSON, see ``MetadataJSON``.
            let effects: String
        }
    }
}
