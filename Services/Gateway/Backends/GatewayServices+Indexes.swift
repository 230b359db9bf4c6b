// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

extension GatewayServices {
    /// Returns a page of the conversations that match a condition, as visible to the user. It searches the user's list;
    /// for the app's own server, all conversations of the app.
    func conversations(
        matching condition: MetadataCondition, pageSize: Int, from: ConversationID?, for call: Call
    ) async throws(Failure) -> ListPage<ConversationBatches> {
        let found = try await find(condition, user: call.user, pageSize: pageSize, from: from, for: call)
        return ListPage(
            objects: ConversationBatches([], later: found.ids, from: self, for: call), total: found.total,
            nextFrom: found.nextFrom)
    }

    /// Returns the ids of a page of conversations that match a condition.
    /// - Parameter user: the user whose list is searched. An empty text searches all conversations of the app.
    func find(
        _ condition: MetadataCondition, user: String, pageSize: Int, from: ConversationID?, for call: Call
    ) async throws(Failure) -> (ids: [ConversationID], total: Int?, nextFrom: String?) {
        let request = ProtoFindConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = user
            $0.modelCondition = condition
            $0.pageSize = Int32(clamping: pageSize)
            if let from { $0.fromID = Data(from) }
        }
        let answer = try await conversations.call(IndexAPI.findConversations, with: request, for: call)
        let ids = try Self.converted { try answer.ids.map { try ConversationID(contract: $0) } }
        return (ids, answer.hasTotal ? Int(answer.total) : nil, try Self.nextFrom(answer.end, ConversationID.self))
    }

    func indexes(of app: AppID, trace: TraceID) async throws(Failure) -> [MetadataIndex] {
        let answer = try await conversations.call(
            IndexAPI.listIndexes, with: .with { $0.appID = Data(app) }, for: .within(.seconds(10), trace: trace))
        return answer.indexes.map { MetadataIndex($0) }
    }

    /// Adds an index on a key path.
    /// - Returns: the index, and false for `isNew` if it existed before.
    func addIndex(
        _ path: MetadataPath, to app: AppID, trace: TraceID
    ) async throws(Failure) -> (index: MetadataIndex, isNew: Bool) {
        let request = ProtoAddIndexRequest.with {
            $0.appID = Data(app)
            $0.path = path.dotted
        }
        let answer = try await conversations.call(
            IndexAPI.addIndex, with: request, for: .within(.seconds(10), trace: trace))
        return (MetadataIndex(answer.index), answer.isNew)
    }

    func removeIndex(_ path: MetadataPath, from app: AppID, trace: TraceID) async throws(Failure) {
        let request = ProtoRemoveIndexRequest.with {
            $0.appID = Data(app)
            $0.path = path.dotted
        }
        _ = try await conversations.call(IndexAPI.removeIndex, with: request, for: .within(.seconds(10), trace: trace))
    }
}
