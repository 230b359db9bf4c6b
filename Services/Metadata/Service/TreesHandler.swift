// SPDX-License-Identifier: Apache-2.0

import Contracts
import Postgres
import RPC
import StrataModel

/// Handles the gateways' reads of metadata trees. Each tree is returned with its position.
///
/// Access rights are not checked here: the gateway has received the conversations from the conversations service for
/// the same user.
struct TreesHandler: CallHandler {
    let store: MetadataStore
    /// The maximum number of trees in one request.
    static let maximumItems = 1000

    func register(on router: inout CallRouter) {
        router.register(MetadataAPI.trees) { try await trees($0, deadline: $1.deadline) }
    }

    func trees(_ request: ProtoTreesRequest, deadline: ContinuousClock.Instant) async throws -> ProtoTreesResponse {
        guard request.items.count <= Self.maximumItems else {
            throw Failure(.invalidRequest, "At most \(Self.maximumItems) trees can be asked for at once.")
        }
        guard !request.items.isEmpty else { return ProtoTreesResponse() }
        var wanted: [MetadataStore.TreeKey] = []
        wanted.reserveCapacity(request.items.count)
        for item in request.items {
            let formerUser = item.hasFormerUserID ? UserID(item.formerUserID) : nil
            guard formerUser != nil || !item.hasFormerUserID else {
                throw Failure.invalid("former_user_id", reason: "is not a user id")
            }
            wanted.append(
                .init(conversation: try ConversationID(contract: item.conversationID), formerUser: formerUser))
        }
        let trees = try await store.trees(
            wanted, bytes: request.maxBytes > 0 ? request.maxBytes : nil, app: try AppID(contract: request.appID),
            deadline: deadline)
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
