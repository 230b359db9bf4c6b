// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

extension GatewayServices {
    /// Returns a page of the user's list with messages of each conversation. The page holds at most as many as fit into
    /// one answer.
    func loadConversations(
        orderedBy order: ConversationOrder, pageSize: Int, from: ConversationID?, messages: LoadedMessages,
        for call: Call
    ) async throws(Failure) -> ListPage<CursorBatches<LoadedConversation>> {
        let request = ProtoLoadConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.byLastMessage = order == .lastMessage
            $0.pageSize = Int32(clamping: pageSize)
            if let from { $0.fromID = Data(from) }
            if case .newest(let count) = messages { $0.messages = Int32(clamping: count) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        return try await CursorBatches.page(size: pageSize) { _, _ throws(Failure) in
            let answer = try await conversations.call(ConversationsAPI.loadConversations, with: request, for: call)
            let loaded = try Self.converted { try answer.items.map { try LoadedConversation($0) } }
            return CursorBatches.Answer(
                items: shown(loaded, view: \.view), isCut: false, total: Int(answer.total),
                nextFrom: try Self.nextFrom(answer.end, ConversationID.self))
        }
    }
}
