// SPDX-License-Identifier: Apache-2.0

import Contracts
import Model
import Postgres

/// The service's statements; everything they promise is said beside the functions of schema `metadata` (Shared/Schema).
struct MetadataStore: Sendable {
    /// Short writes, which travel in groups.
    let writes: PostgresPool
    /// Writes that may take long, each alone.
    let large: PostgresPool
    /// Reads, which neither wait for locks nor hold any.
    let reads: PostgresPool
    /// What a conversation's tree may grow to.
    let limits: MetadataLimits

    private static let patch = Statement(
        "metadata.patch",
        sql: """
            SELECT outcome, position, created_at, message_count, effects
            FROM metadata.patch($1::uuid, $2::uuid, $3::text, $4::jsonb, $5::int8, $6::int8, $7::int8, $8::int8)
            """)

    private static let readTrees = Statement(
        "metadata.trees",
        sql: "SELECT position, paths, vals FROM metadata.trees_within($1::uuid, $2::uuid[], $3::text[], $4::int8, $5::int8) ORDER BY n",
        isIdempotent: true)

    /// A tree of more bytes does not fit into an answer, and is not read.
    static let mostBytes: Int64 = 64 << 20

    /// Commits a patch.
    /// - Returns: the change, or nil if the patch changed nothing.
    /// - Throws: ``Model/Failure``; any other error is a fault of ours.
    func commit(_ patch: MetadataPatch, deadline: ContinuousClock.Instant) async throws -> Change? {
        let pool = patch.operations.isLarge ? large : writes
        let rows: Rows
        do {
            rows = try await pool.query(
                Self.patch,
                [
                    .uuid(patch.app.rawValue), .uuid(patch.conversation.rawValue), .text(patch.actor.rawValue),
                    .jsonb(OperationsJSON.encode(patch.operations)),
                    patch.origin.map { .int8(Int64(bitPattern: $0.connection)) } ?? .null,
                    patch.origin.map { .int8(Int64(bitPattern: $0.request)) } ?? .null,
                    limits.keys.map { .int8(Int64($0)) } ?? .null, limits.bytes.map { .int8(Int64($0)) } ?? .null,
                ], lockKey: UInt64(hashing: patch.conversation.rawValue), deadline: deadline)
        } catch {
            throw refusal(error) ?? error
        }
        guard let row = rows.first else { throw MalformedAnswer() }
        return try change(row, of: patch)
    }

    private func change(_ row: Row, of patch: MetadataPatch) throws -> Change? {
        switch try row.get(0, as: String.self) {
        case "ok": break
        case "none": return nil
        case "not_found": throw Failure.notFound("conversation")
        case "access_denied": throw Failure.accessDenied("You are not a participant of this conversation any more.")
        case "too_many_keys": throw limits.tooManyKeys
        case "too_large": throw limits.tooLarge
        default: throw MalformedAnswer()
        }
        return Change(
            appID: patch.app, conversationID: patch.conversation, position: Position(try row.get(1, as: Int64.self)),
            createdAt: Model.Timestamp(microseconds: try row.get(2, as: Postgres.Timestamp.self).microseconds), actor: patch.actor,
            origin: patch.origin, messageCount: try row.get(3, as: Int64.self), numbers: [:],
            content: .metadataChanged(try OperationsJSON.decodeEffects(try row.get(4, as: String.self))))
    }

    /// A tree to read.
    struct TreeKey: Sendable {
        var conversation: ConversationID
        /// Somebody who left: the tree as he last saw it.
        var formerUser: UserID?
    }

    /// A tree with the position of its conversation at that moment.
    struct StoredTree: Sendable {
        var leaves: [MetadataLeaf]
        var position: Position
    }

    /// Those that fit, from one snapshot, in the order of `keys`. What does not exist has position 0 and no leaves.
    /// - Parameter bytes: that they may have, about; nil: no bound. The first one is always among them.
    /// - Throws: ``Model/Failure``, ``Model/Failure/answerTooLarge`` if the first one does not fit into any answer; any other error is a fault of ours.
    func trees(_ keys: [TreeKey], bytes: Int64? = nil, app: AppID, deadline: ContinuousClock.Instant) async throws -> [StoredTree] {
        let rows: Rows
        do {
            rows = try await reads.query(
                Self.readTrees,
                [
                    .uuid(app.rawValue), .uuidArray(keys.map(\.conversation.rawValue)), .textArray(keys.map { $0.formerUser?.rawValue }),
                    bytes.map { .int8($0) } ?? .null, .int8(Self.mostBytes),
                ], deadline: deadline)
        } catch {
            throw refusal(error) ?? error
        }
        guard rows.count <= keys.count, keys.isEmpty || !rows.isEmpty else { throw MalformedAnswer() }
        var trees: [StoredTree] = []
        for row in rows {
            guard let paths = try row.getOptional(1, as: [String].self), let values = try row.getOptional(2, as: [String].self) else {
                if trees.isEmpty { throw Failure.answerTooLarge }
                break
            }
            guard paths.count == values.count else { throw MalformedAnswer() }
            trees.append(
                StoredTree(
                    leaves: zip(paths, values).map { MetadataLeaf(path: MetadataPath(trusted: $0), value: $1) },
                    position: Position(try row.get(0, as: Int64.self))))
        }
        guard bytes != nil || trees.count == keys.count else { throw Failure.answerTooLarge }
        return trees
    }

    /// What a client is told of an error that is nobody's fault; nil for faults of ours.
    private func refusal(_ error: PostgresError) -> (any Error)? {
        switch error.code {
        case .cancelled: CancellationError()
        case .deadlineExceeded, .connectionUnavailable, .queueFull, .closed, .fateUnknown: Failure.unavailable
        default: error.isRetryable ? Failure.unavailable : nil
        }
    }
}

/// The database answered what its functions never answer: a fault of ours.
struct MalformedAnswer: Error {}
