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

/// A client's reference to a part of a message: by its id or, in version 2.0, by its index.
enum PartReference: Hashable, Sendable {
    case id(UUID)
    case index(Int)

    /// Reads both forms in any version (docs/conformance.md §15).
    init?(_ text: some StringProtocol) {
        if let id = UUID(uuidString: String(text)) {
            self = .id(id)
        } else if text.utf8.count <= 4, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            let index = Int(text)
        {
            self = .index(index)
        } else {
            return nil
        }
    }

    func place(in parts: [MessagePart]) -> Int? {
        switch self {
        case .id(let id): parts.firstIndex { $0.id == id }
        case .index(let index): parts.indices.contains(index) ? index : nil
        }
    }

    fileprivate var proto: ProtoPartReference {
        .with {
            switch self {
            case .id(let id): $0.id = Data(uuid: id)
            case .index(let index): $0.index = Int32(clamping: index)
            }
        }
    }
}

/// Editing the parts of a sent message (docs/conformance.md §6.7).
extension GatewayServices {
    enum PartsEdit: Sendable {
        case add(MessagePart)
        case replace(PartReference, by: MessagePart)
        case remove(PartReference)
        case replaceAll([MessagePart])
    }

    struct EditedParts: Sendable {
        /// The message after the edit; nil if a removal was repeated.
        let message: StrataModel.Message?
        /// The index of the added or replaced part.
        let index: Int
        let place: LogPosition
    }

    /// - Parameter conversation: the conversation that must contain the message; nil for any.
    func edit(
        _ edit: PartsEdit, of message: MessageID, in conversation: ConversationID? = nil, for call: Call
    ) async throws(Failure) -> EditedParts {
        let request = ProtoEditPartsRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.messageID = Data(message)
            if let conversation { $0.conversationID = Data(conversation) }
            switch edit {
            case .add(let part): $0.add = ProtoMessagePart(part)
            case .replace(let reference, let part):
                $0.replace = .with {
                    $0.part = reference.proto
                    $0.by = ProtoMessagePart(part)
                }
            case .remove(let reference): $0.remove = reference.proto
            case .replaceAll(let parts): $0.replaceAll = .with { $0.parts = parts.map { ProtoMessagePart($0) } }
            }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(ConversationsAPI.editParts, with: request, for: call)
        return EditedParts(
            message: answer.hasMessage ? try Self.converted { try StrataModel.Message(answer.message) } : nil,
            index: Int(answer.index),
            place: LogPosition(answer.place))
    }
}

extension GatewayServices {
    /// Records receipts of several messages of one conversation, each named once.
    /// - Returns: the messages that are not visible to the user there, and the log position of the other receipts.
    func giveReceipts(
        _ messages: [MessageID], in conversation: ConversationID, kind: ReceiptKind, for call: Call
    ) async throws(Failure) -> (ignored: [MessageID], place: LogPosition) {
        let request = ProtoGiveReceiptsRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(conversation)
            $0.messageIds = messages.map { Data($0) }
            $0.kind = kind.rawValue
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(ConversationsAPI.giveReceipts, with: request, for: call)
        return (
            try Self.converted { try answer.ignored.map { try MessageID(contract: $0) } }, LogPosition(answer.place)
        )
    }
}
