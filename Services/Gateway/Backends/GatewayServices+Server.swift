// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
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

extension GatewayServices {
    /// The time limit of a call. The webhooks service may call a receiver.
    private var patience: Duration { .seconds(12) }

    private func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, with request: Request, trace: TraceID
    ) async throws(Failure) -> Response {
        guard let webhooks else { throw .unavailable }
        return try await webhooks.call(endpoint, with: request, for: .within(patience, trace: trace))
    }

    private func request(_ id: WebhookID, of app: AppID, event: UUID? = nil) -> ProtoWebhookRequest {
        .with {
            $0.appID = Data(app)
            $0.id = Data(id)
            if let event { $0.eventID = Data(uuid: event) }
        }
    }

    func createWebhook(_ body: WebhookBody, for server: ServerCaller, trace: TraceID) async throws(Failure) -> Webhook {
        let request = ProtoCreateWebhookRequest.with {
            $0.appID = Data(server.app)
            $0.tokenID = Data(uuid: server.token)
            $0.id = Data(WebhookID.random())
            $0.version = body.version.rawValue
            $0.targetURL = body.targetURL
            $0.events = body.events
            $0.secret = body.secret
            $0.config = body.config
        }
        let answer = try await call(WebhooksAPI.createWebhook, with: request, trace: trace)
        return try Self.converted { try Webhook(answer) }
    }

    func listWebhooks(of app: AppID, trace: TraceID) async throws(Failure) -> [Webhook] {
        let answer = try await call(WebhooksAPI.listWebhooks, with: .with { $0.appID = Data(app) }, trace: trace)
        return try Self.converted { try answer.webhooks.map { try Webhook($0) } }
    }

    /// Returns a webhook after applying the operation of `endpoint`.
    func webhook(
        _ id: WebhookID, of app: AppID,
        by endpoint: Endpoint<ProtoWebhookRequest, ProtoWebhook> = WebhooksAPI.getWebhook,
        trace: TraceID
    ) async throws(Failure) -> Webhook {
        let answer = try await call(endpoint, with: request(id, of: app), trace: trace)
        return try Self.converted { try Webhook(answer) }
    }

    func deleteWebhook(_ id: WebhookID, of app: AppID, trace: TraceID) async throws(Failure) {
        _ = try await call(WebhooksAPI.deleteWebhook, with: request(id, of: app), trace: trace)
    }

    func webhookDeliveries(_ id: WebhookID, of app: AppID, trace: TraceID) async throws(Failure) -> [WebhookDelivery] {
        let answer = try await call(WebhooksAPI.listWebhookDeliveries, with: request(id, of: app), trace: trace)
        return try Self.converted { try answer.deliveries.map { try WebhookDelivery($0) } }
    }

    func redeliver(_ event: UUID, to id: WebhookID, of app: AppID, trace: TraceID) async throws(Failure) {
        _ = try await call(WebhooksAPI.redeliverWebhook, with: request(id, of: app, event: event), trace: trace)
    }
}
