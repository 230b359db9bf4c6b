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
    ) async throws(Failure) -> ListPage<LoadedBatches> {
        let request = ProtoLoadConversationsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.byLastMessage = order == .lastMessage
            $0.pageSize = Int32(clamping: pageSize)
            if let from { $0.fromID = Data(from) }
            if case .newest(let count) = messages { $0.messages = Int32(clamping: count) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(
            ConversationsAPI.loadConversations, with: request, deadline: call.deadline, trace: call.trace,
            answers: call.answers)
        let loaded = try Self.converted { try answer.items.map { try LoadedConversation($0) } }
        return ListPage(
            objects: LoadedBatches(loaded, from: self, for: call), total: Int(answer.total),
            nextFrom: try Self.nextFrom(answer.end, ConversationID.self))
    }
}

/// A page of conversations with messages. Their metadata trees are fetched in batches.
struct LoadedBatches: Batches {
    private var conversations: ConversationBatches
    /// The conversations that have not been returned.
    private var loaded: [ConversationID: LoadedConversation]

    init(_ loaded: [LoadedConversation], from services: GatewayServices, for call: GatewayServices.Call) {
        conversations = ConversationBatches(loaded.map(\.view), from: services, for: call)
        self.loaded = Dictionary(loaded.map { ($0.view.conversation.id, $0) }) { first, _ in first }
    }

    var isFinished: Bool { conversations.isFinished }

    /// The estimated bytes of messages that are held until the trees of their conversations arrive.
    var heldBytes: Int {
        loaded.values.reduce(0) { sum, whole in
            whole.messages.reduce(sum) { sum, message in
                message.parts.reduce(sum + 512 + 128 * message.recipients.count) {
                    $0 + 128 + ($1.body?.utf8.count ?? 0)
                }
            }
        }
    }

    mutating func next() async throws(Failure) -> [LoadedConversation]? {
        guard let views = try await conversations.next() else { return nil }
        return views.compactMap { view in
            guard var whole = loaded.removeValue(forKey: view.conversation.id) else { return nil }
            // A conversation is read again if its tree has changed. Its last message and its counts stay as of the time
            // when its messages were read; packets announce later changes of them, whatever the conversation's
            // position.
            whole.view.conversation = view.conversation
            return whole
        }
    }
}
