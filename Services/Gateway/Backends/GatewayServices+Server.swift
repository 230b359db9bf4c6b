// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import StrataModel
import StrataWire
import SwiftProtobuf

/// Actions of an app's own server in its own name, for no user.
extension GatewayServices {
    /// Creates a conversation, or finds the distinct one. A creation with an id in use counts as a repetition.
    func createByServer(_ body: CreateConversationBody, for call: Call) async throws(Failure) -> Creation {
        guard body.participants.count <= settings.objects.participants else {
            throw .invalid("participants", reason: "names more than \(settings.objects.participants) users")
        }
        do throws(Failure) {
            return try await createConversation(
                id: body.id ?? .random(), participants: body.participants.sorted(), isDistinct: body.isDistinct,
                metadata: body.metadata?.leaves,
                receiptPolicy: body.receiptPolicy, for: call)
        } catch {
            guard error.code == .idInUse, case .conversation(let view) = error.detail else { throw error }
            return Creation(view: view, isNew: true, place: LogPosition(position: view.conversation.position))
        }
    }

    /// Sends a message. A message with this id in the same conversation counts as a repetition.
    /// - Parameter id: the server's id, or one that the gateway chose.
    func sendByServer(
        _ body: ServerMessageBody, as id: MessageID, to conversation: ConversationID, for call: Call
    ) async throws(Failure) -> (message: StrataModel.Message, place: LogPosition) {
        do throws(Failure) {
            let request = messageRequest(body, as: id, to: conversation, for: call)
            let answer = try await conversations.call(ConversationsAPI.sendMessage, with: request, for: call)
            if case .user(let user) = body.sender {
                endTyping(of: UserKey(app: call.key.app, user: user), in: conversation)
            }
            return (try Self.converted { try StrataModel.Message(answer.message) }, LogPosition(answer.place))
        } catch {
            guard error.code == .idInUse, case .message(let message) = error.detail else { throw error }
            // A message of another conversation must not be disclosed.
            guard message.conversationID == conversation else { throw Failure(.idInUse, error.message) }
            return (message, LogPosition(position: message.position))
        }
    }

    func schedule(
        _ body: ServerMessageBody, _ schedule: ServerMessageBody.Schedule, as id: MessageID,
        to conversation: ConversationID, for call: Call
    ) async throws(Failure) {
        let request = ProtoScheduleMessageRequest.with {
            $0.message = messageRequest(body, as: id, to: conversation, for: call)
            $0.delayMs = schedule.delay
            $0.typingMs = schedule.typing
        }
        _ = try await conversations.call(ConversationsAPI.scheduleMessage, with: request, for: call)
    }

    private func messageRequest(
        _ body: ServerMessageBody, as id: MessageID, to conversation: ConversationID, for call: Call
    ) -> ProtoSendMessageRequest {
        .with {
            $0.appID = call.appData
            $0.byServer = true
            switch body.sender {
            case .user(let user): $0.actor = user.rawValue
            case .name(let name): $0.senderName = name
            }
            $0.conversationID = Data(conversation)
            $0.id = Data(id)
            $0.parts = body.content.parts.map { ProtoMessagePart($0) }
            if let notification = body.content.notification { $0.notification = notification }
        }
    }

    /// Applies a patch to a conversation.
    /// - Returns: `.empty` for a patch without operations, which is no change.
    func patchByServer(
        _ id: ConversationID, with patch: ConversationPatch, for call: Call
    ) async throws(Failure) -> LogPosition {
        if patch.isEmpty {
            try await checkConversation(id, for: call)
            return .empty
        }
        return try await patchConversation(
            id, participants: Self.operations(patch), metadata: patch.metadata, for: call)
    }

    /// Deletes a conversation for all participants. A deleted conversation counts as success.
    func deleteByServer(_ id: ConversationID, for call: Call) async throws(Failure) -> LogPosition {
        do throws(Failure) {
            return try await deleteConversation(id, mode: .allParticipants, leave: false, for: call)
        } catch {
            guard error.code == .objectDeleted else { throw error }
            return .empty
        }
    }
}
