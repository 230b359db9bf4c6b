// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import NetKit
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about indexes of metadata, and queries by them.
struct IndexHandler: CallHandler {
    private let support: ServiceContext
    private var database: Database { support.database }

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(IndexAPI.findConversations) { try await self.find($0, in: $1) }
        router.register(IndexAPI.listIndexes) { try await self.list($0, in: $1) }
        router.register(IndexAPI.addIndex) { try await self.add($0, in: $1) }
        router.register(IndexAPI.removeIndex) { try await self.remove($0, in: $1) }
    }

    private func find(
        _ request: ProtoFindConversationsRequest, in context: RPCContext
    ) async throws -> ProtoFindConversationsResponse {
        let user = request.userID.isEmpty ? nil : UserID(request.userID)
        guard request.userID.isEmpty == (user == nil) else { throw Failure.notFound("user") }
        guard let condition = request.modelCondition else { throw Failure.missing("metadata") }
        let query = FindConversations(
            app: try AppID(contract: request.appID), user: user, condition: condition,
            pageSize: Int64(min(max(request.pageSize, 1), ConversationHandler.pageLimit)),
            from: request.hasFromID ? try ConversationID(contract: request.fromID) : nil)
        let rows = try await database.runExclusive(query, deadline: context.deadline)
        let row = try support.row(rows)
        try Self.check(row.outcome, of: condition.path, isOfUser: user != nil)
        return .with {
            $0.ids = row.ids.map { Data(uuid: $0) }
            if let total = row.total { $0.total = total }
            $0.end = ProtoPageEnd(lastID: row.hasMore == true ? row.ids.last.map { Data(uuid: $0) } : nil)
        }
    }

    /// Throws the failure for an outcome that is not a success.
    private static func check(_ outcome: String, of path: MetadataPath, isOfUser: Bool) throws(Failure) {
        switch outcome {
        case "not_indexed":
            throw .invalid(
                "metadata.\(path.dotted)", reason: "is not indexed. The app's own server can add an index of it")
        case "building":
            throw .invalid("metadata.\(path.dotted)", reason: "cannot be queried yet, because its index is being built")
        case "unknown_cursor":
            // Apps' own servers get this failure in all of their lists.
            throw isOfUser ? ConversationHandler.unknownCursor : .notFound("conversation in this list")
        default: break
        }
    }

    private func list(
        _ request: ProtoListIndexesRequest, in context: RPCContext
    ) async throws -> ProtoListIndexesResponse {
        let rows = try await database.runExclusive(
            ListIndexes(app: try AppID(contract: request.appID)), deadline: context.deadline)
        return .with { $0.indexes = rows.map { ProtoMetadataIndex($0.index) } }
    }

    private func add(_ request: ProtoAddIndexRequest, in context: RPCContext) async throws -> ProtoAddIndexResponse {
        let path = try MetadataPath(validating: request.path)
        try path.checkSettable()
        let rows = try await database.runExclusive(
            AddIndex(app: try AppID(contract: request.appID), path: path, most: Int64(MetadataIndex.maximumPerApp)),
            deadline: context.deadline)
        let row = try support.row(rows)
        if row.outcome == "too_many" {
            throw Failure.invalid(
                "property",
                reason: "cannot be indexed: the app has the maximum of \(MetadataIndex.maximumPerApp) indexes")
        }
        if row.outcome == "removing" {
            throw Failure.invalid(
                "property",
                reason: """
                    cannot be indexed now: \(MetadataIndex.maximumPerApp) indexes of the app are still being removed. \
                    Try again later
                    """
            )
        }
        guard let index = row.index else { throw Failure.invalidApp }
        support.signals.indexes.signal()
        return .with {
            $0.index = ProtoMetadataIndex(index.index)
            $0.isNew = row.outcome == "created"
        }
    }

    private func remove(_ request: ProtoRemoveIndexRequest, in context: RPCContext) async throws -> ProtoEmpty {
        let query = RemoveIndex(app: try AppID(contract: request.appID), path: MetadataPath(trusted: request.path))
        let rows = try await database.runExclusive(query, deadline: context.deadline)
        guard try support.row(rows).answer else { throw Failure.notFound("index") }
        support.signals.indexes.signal()
        return ProtoEmpty()
    }
}
