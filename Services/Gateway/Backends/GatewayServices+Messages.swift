// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

extension GatewayServices {
    func sendMessage(
        _ id: MessageID, to conversation: ConversationID, parts: [MessagePart], notification: String?, for call: Call
    ) async throws(Failure) -> (message: StrataModel.Message, place: LogPosition) {
        let request = ProtoSendMessageRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(conversation)
            $0.id = Data(id)
            $0.parts = parts.map { ProtoMessagePart($0) }
            if let notification { $0.notification = notification }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(ConversationsAPI.sendMessage, with: request, for: call)
        return (try Self.converted { try StrataModel.Message(answer.message) }, LogPosition(answer.place))
    }

    /// - Parameter conversation: the conversation that must contain the message; nil for any.
    func message(
        _ id: MessageID, in conversation: ConversationID? = nil, for call: Call
    ) async throws(Failure) -> StrataModel.Message {
        let request = ProtoGetMessageRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.messageID = Data(id)
            if let conversation { $0.conversationID = Data(conversation) }
        }
        let answer = try await conversations.call(ConversationsAPI.getMessage, with: request, for: call)
        return try Self.converted { try StrataModel.Message(answer) }
    }

    func messages(
        in conversation: ConversationID, pageSize: Int, from: MessageID?, for call: Call
    ) async throws(Failure) -> ListPage<CursorBatches<StrataModel.Message>> {
        try await CursorBatches.page(size: pageSize) { last, count throws(Failure) in
            try await messageBatch(in: conversation, count: count, from: last?.id ?? from, for: call.renewed)
        }
    }

    private func messageBatch(
        in conversation: ConversationID, count: Int, from: MessageID?, for call: Call
    ) async throws(Failure) -> CursorBatches<StrataModel.Message>.Answer {
        let request = ProtoListMessagesRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.conversationID = Data(conversation)
            $0.pageSize = Int32(clamping: count)
            if let from { $0.fromID = Data(from) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(ConversationsAPI.listMessages, with: request, for: call)
        let messages = try Self.converted { try answer.messages.map { try StrataModel.Message($0) } }
        return CursorBatches.Answer(
            items: messages, isCut: answer.isCut, total: Int(answer.total),
            nextFrom: try Self.nextFrom(answer.end, MessageID.self))
    }

    /// - Parameter conversation: the conversation that must contain the message; nil for any.
    func deleteMessage(
        _ id: MessageID, in conversation: ConversationID? = nil, mode: DeletionMode, for call: Call
    ) async throws(Failure) -> LogPosition {
        let request = ProtoDeleteMessageRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.messageID = Data(id)
            $0.mode = mode.rawValue
            if let conversation { $0.conversationID = Data(conversation) }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        return LogPosition(try await conversations.call(ConversationsAPI.deleteMessage, with: request, for: call))
    }

    func giveReceipt(_ id: MessageID, kind: ReceiptKind, for call: Call) async throws(Failure) -> LogPosition {
        let request = ProtoGiveReceiptRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.messageID = Data(id)
            $0.kind = kind.rawValue
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        return LogPosition(try await conversations.call(ConversationsAPI.giveReceipt, with: request, for: call))
    }
}
