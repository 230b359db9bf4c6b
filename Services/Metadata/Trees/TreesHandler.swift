// SPDX-License-Identifier: Apache-2.0

import Contracts
import Model
import Postgres
import RPC

/// Answers what the gateway renders conversations with: the trees of many of them, each with the position it belongs to.
///
/// Who may see a conversation is not asked here: the gateway has it from the conversations service for this very user.
struct TreesHandler: Sendable {
    let store: MetadataStore
    /// Trees of one request, at most.
    static let maximumItems = 1000

    func trees(_ request: ProtoTreesRequest, deadline: ContinuousClock.Instant) async throws -> ProtoTreesResponse {
        guard request.items.count <= Self.maximumItems else {
            throw Failure(.invalidRequest, "At most \(Self.maximumItems) trees can be asked for at once.")
        }
        guard !request.items.isEmpty else { return ProtoTreesResponse() }
        var wanted: [MetadataStore.TreeKey] = []
        wanted.reserveCapacity(request.items.count)
        for item in request.items {
            let formerUser = item.hasFormerUserID ? UserID(item.formerUserID) : nil
            guard formerUser != nil || !item.hasFormerUserID else { throw Failure.invalid("former_user_id", "is not a user id") }
            wanted.append(.init(conversation: try ConversationID(contract: item.conversationID), formerUser: formerUser))
        }
        let trees = try await store.trees(
            wanted, bytes: request.maxBytes > 0 ? request.maxBytes : nil, app: try AppID(contract: request.appID), deadline: deadline)
        var response = ProtoTreesResponse()
        response.items = trees.map { tree in
            var item = ProtoTreesResponse.Item()
            item.tree = ProtoTree(tree.leaves)
            item.position = tree.position.rawValue
            return item
        }
        return response
    }
}
