// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import RPC
import SwiftProtobuf

/// The conversations service knows all of a conversation but its metadata tree; here the two are put together.
extension GatewayServices {
    func completed(_ proto: ProtoConversationView, _ call: Call) async throws(Failure) -> ConversationView {
        let view = try Self.converted { try ConversationView(proto) }
        return try await completed([view], call)[0]
    }

    /// Fills in the trees that are not loaded. A value composed of two sources has the lower position of the two.
    func completed(_ views: [ConversationView], _ call: Call) async throws(Failure) -> [ConversationView] {
        let lacking = views.indices.filter { views[$0].conversation.metadata == nil }
        guard !lacking.isEmpty else { return views }
        let request = ProtoTreesRequest.with {
            $0.appID = call.appData
            $0.items = lacking.map { index in
                .with {
                    $0.conversationID = Data(views[index].conversation.id)
                    // Also of a participant: he may have been removed in between, and must not see what was set after that.
                    $0.formerUserID = call.user
                }
            }
        }
        let answer = try await metadata.call(MetadataAPI.trees, request, deadline: call.deadline, trace: call.trace)
        guard answer.items.count == lacking.count else {
            throw Failure(.internalServerError, "The answer of a service could not be understood.")
        }
        var views = views
        for (index, item) in zip(lacking, answer.items) {
            views[index].conversation.metadata = MetadataTree(item.tree)
            let treePosition = Position(item.position)
            if views[index].isParticipant { views[index].conversation.position = min(views[index].conversation.position, treePosition) }
        }
        return views
    }

    /// A conflict names the conversation that exists already: its tree, too, is filled in. Without it the refusal still stands.
    func completed(_ failure: Failure, _ call: Call) async -> Failure {
        guard case .conversation(let view) = failure.detail else { return failure }
        var failure = failure
        if let view = try? await completed([view], call).first {
            failure.detail = .conversation(view)
        } else {
            return .unavailable
        }
        return failure
    }
}
