// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import StrataModel
import StrataWire

/// Actions that REST and sockets share. They turn a checked body into service calls.
extension GatewayServices {
    /// Creates a conversation. The caller is always among the participants. If the client sent no id, the gateway
    /// chooses one, so that the call can be retried when its answer is lost. If that id is in use, the first call must
    /// have succeeded.
    func create(_ body: CreateConversationBody, for call: Call) async throws(Failure) -> Creation {
        var participants = Set(body.participants)
        participants.insert(call.key.user)
        guard participants.count <= settings.objects.participants else {
            throw .invalid("participants", reason: "names more than \(settings.objects.participants) users")
        }
        do throws(Failure) {
            return try await createConversation(
                id: body.id ?? .random(), participants: participants.sorted(), isDistinct: body.isDistinct,
                metadata: body.metadata?.leaves,
                receiptPolicy: body.receiptPolicy, for: call)
        } catch {
            guard body.id == nil, error.code == .idInUse, case .conversation(let view) = error.detail else {
                throw error
            }
            return Creation(view: view, isNew: true, place: LogPosition(position: view.conversation.position))
        }
    }

    /// Sends a message. If the client chose no id and the id is in use, an earlier attempt of this call has stored the
    /// message.
    func send(
        _ body: SendMessageBody, to conversation: ConversationID, for call: Call
    ) async throws(Failure) -> (message: Message, place: LogPosition) {
        do throws(Failure) {
            return try await sendMessage(
                body.id ?? .random(), to: conversation, parts: body.parts, notification: body.notification, for: call)
        } catch {
            guard body.id == nil, error.code == .idInUse, case .message(let message) = error.detail else { throw error }
            return (message, LogPosition(position: message.position))
        }
    }

    /// Applies a patch to a conversation.
    /// - Returns: `.empty` for a patch without operations, which is no change.
    func patch(_ id: ConversationID, with patch: ConversationPatch, for call: Call) async throws(Failure) -> LogPosition
    {
        if patch.isEmpty {
            // An empty patch changes nothing, but its answer must not reveal whether a conversation exists.
            let view = try await conversation(id, for: call)
            guard view.isParticipant else {
                throw .accessDenied("You are not a participant of this conversation any more.")
            }
            return .empty
        }
        return try await patchConversation(
            id, participants: Self.operations(patch), metadata: patch.metadata, for: call)
    }

    static func operations(_ patch: ConversationPatch) -> [ProtoParticipantOperation] {
        patch.participants.map { operation in
            switch operation {
            case .add(let user): ProtoParticipantOperation(.add, users: [user])
            case .remove(let user): ProtoParticipantOperation(.remove, users: [user])
            case .set(let users): ProtoParticipantOperation(.set, users: users)
            }
        }
    }
}

extension ProtoParticipantOperation {
    fileprivate init(_ kind: Kind, users: [UserID]) {
        self.init()
        self.kind = kind
        userIds = users.map(\.rawValue)
    }
}
