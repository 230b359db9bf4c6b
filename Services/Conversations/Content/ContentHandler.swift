// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about rich content: its description and the users who can see it (docs/conformance.md §8). The
/// gateways store the bytes.
struct ContentHandler: CallHandler {
    private let support: ServiceContext
    private var database: Database { support.database }

    /// The maximum number of contents that one call sweeps or forgets.
    private static let batchLimit = 1000

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(AccountAPI.createContent) { try await self.createContent($0, in: $1) }
        router.register(AccountAPI.finishContent) { try await self.finishContent($0, in: $1) }
        router.register(AccountAPI.getContent) { try await self.getContent($0, in: $1) }
        router.register(AccountAPI.sweepContents) { try await self.sweepContents($0, in: $1) }
        router.register(AccountAPI.forgetContents) { try await self.forgetContents($0, in: $1) }
    }

    /// Registers a content before its upload, within the quotas.
    private func createContent(_ request: ProtoCreateContentRequest, in context: RPCContext) async throws -> ProtoEmpty
    {
        let caller = try Caller(app: request.appID, user: request.owner, context)
        let id = try ContentID(contract: request.id)
        guard request.size >= 0 else { throw Failure.invalid("Upload-Content-Length", reason: "must not be negative") }
        let quotas = support.quotas
        let conversation = request.hasConversationID ? try ConversationID(contract: request.conversationID) : nil
        // The statement locks the quotas of the user and of the app, so it runs in its own transaction.
        let rows = try await database.runExclusive(
            CreateContent(
                content: id, app: caller.app, owner: caller.user, mimeType: request.mimeType, size: request.size,
                // Uploads of the app's own server count only towards the app's quota.
                uploads: caller.isServer ? nil : quotas.uploads,
                uploadBytes: caller.isServer ? nil : quotas.uploadBytes,
                appUploads: quotas.appUploads, appUploadBytes: quotas.appUploadBytes, conversation: conversation),
            for: caller)
        let outcome = try support.row(rows).outcome
        try Refusal.check(outcome, what: "conversation")
        switch outcome {
        case "ok": return ProtoEmpty()
        case "too_many": throw QuotaRefusal.uploads.failure(quotas)
        case "too_many_bytes": throw QuotaRefusal.uploadBytes.failure(quotas)
        case "app_full": throw QuotaRefusal.appUploads.failure(quotas)
        default: throw QuotaRefusal.appUploadBytes.failure(quotas)
        }
    }

    private func finishContent(_ request: ProtoFinishContentRequest, in context: RPCContext) async throws -> ProtoEmpty
    {
        try await finish(try ContentID(contract: request.contentID), deadline: context.deadline)
        return ProtoEmpty()
    }

    /// Marks a content as uploaded.
    /// - Throws: `not_found` if the upload is no longer expected.
    func finish(_ id: ContentID, deadline: ContinuousClock.Instant) async throws(Failure) {
        let rows = try await database.runExclusive(FinishContent(content: id), deadline: deadline)
        if rows.isEmpty { throw .notFound("content") }
    }

    private func getContent(_ request: ProtoGetContentRequest, in context: RPCContext) async throws -> ProtoContent {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let id = try ContentID(contract: request.contentID)
        let rows =
            if request.hasConversationID {
                try await database.run(
                    GetServerContent(
                        app: caller.app, conversation: try ConversationID(contract: request.conversationID), content: id
                    ),
                    deadline: caller.deadline)
            } else {
                try await database.run(
                    GetContent(app: caller.app, user: caller.user, content: id), deadline: caller.deadline)
            }
        guard let row = rows.first else { throw Failure.notFound("content") }
        return .with {
            $0.id = Data(id)
            $0.mimeType = row.mimeType
            $0.size = row.size
            $0.isUploaded = row.isUploaded
        }
    }

    /// Dooms contents that have long been unreferenced, and returns doomed contents. The caller removes their bytes and
    /// then forgets them.
    private func sweepContents(
        _ request: ProtoSweepContentsRequest, in context: RPCContext
    ) async throws -> ProtoSweepContentsResponse {
        let limit = min(max(Int(request.limit), 1), Self.batchLimit)
        let rows = try await database.runExclusive(
            SweepContents(age: max(request.age, 0), limit: Int64(limit)), deadline: context.deadline)
        return .with { $0.doomed = rows.map { Data($0.contentID) } }
    }

    private func forgetContents(
        _ request: ProtoForgetContentsRequest, in context: RPCContext
    ) async throws -> ProtoEmpty {
        guard request.contentIds.count <= Self.batchLimit else { throw RPCError.tooLarge }
        let ids = try request.contentIds.map { try ContentID(contract: $0).rawValue }
        _ = try await database.runExclusive(ForgetContents(contents: ids), deadline: context.deadline)
        return ProtoEmpty()
    }
}

struct CreateContent: PostgresQuery {
    let content: ContentID
    let app: AppID
    let owner: UserID
    let mimeType: String
    let size: Int64
    /// The maximum number and the maximum bytes of the owner's unreferenced contents.
    let uploads: Int?
    let uploadBytes: Int?
    /// The maximum number and the maximum bytes of the app's unreferenced contents.
    let appUploads: Int?
    let appUploadBytes: Int?
    /// The conversation for which the app's own server uploads the content. nil: a user uploads it.
    var conversation: ConversationID?

    typealias Row = OutcomeRow

    static let statement = Statement(
        "content.create",
        sql: "SELECT conversations.create_content($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS outcome",
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(content.rawValue), .uuid(app.rawValue), .text(owner.rawValue), .text(mimeType), .int8(size),
            Value(uploads),
            Value(uploadBytes), Value(appUploads), Value(appUploadBytes), Value(conversation?.rawValue),
        ]
    }
}

/// Marks a content as uploaded. No row: it is about to be removed.
struct FinishContent: PostgresQuery {
    let content: ContentID

    static let statement = Statement(
        "content.finish",
        sql: """
            UPDATE conversations.content SET uploaded_at = coalesce(uploaded_at, now())
            WHERE id = $1 AND NOT is_doomed RETURNING id
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(content.rawValue)] }
}

/// Reads content of a conversation, as the app's own server sees it.
struct GetServerContent: PostgresQuery {
    let app: AppID
    let conversation: ConversationID
    let content: ContentID

    typealias Row = GetContent.Row

    static let statement = Statement(
        "content.get_by_server", sql: "SELECT * FROM conversations.get_server_content($1, $2, $3)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(conversation.rawValue), .uuid(content.rawValue)] }
}

/// Reads content that a user can see.
struct GetContent: PostgresQuery {
    let app: AppID
    let user: UserID
    let content: ContentID

    static let statement = Statement(
        "content.get", sql: "SELECT * FROM conversations.get_content($1, $2, $3)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .uuid(content.rawValue)] }

    struct Row: Decodable {
        let mimeType: String
        let size: Int64
        let isUploaded: Bool
    }
}

/// Marks unreferenced contents for removal and returns them.
struct SweepContents: PostgresQuery {
    /// The minimum age in seconds.
    let age: Int64
    let limit: Int64

    static let statement = Statement(
        "content.sweep", sql: "SELECT * FROM conversations.sweep_contents($1::int8 * interval '1 second', $2)",
        isIdempotent: true)

    var parameters: [Value] { [.int8(age), .int8(limit)] }

    struct Row: Decodable {
        let contentID: ContentID
    }
}

/// Deletes contents whose bytes have been removed.
struct ForgetContents: PostgresQuery {
    let contents: [UUID]

    static let statement = Statement(
        "content.forget", sql: "DELETE FROM conversations.content WHERE id = ANY ($1::uuid[]) AND is_doomed",
        isIdempotent: true)

    var parameters: [Value] { [.uuidArray(contents)] }
}
