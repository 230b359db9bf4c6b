// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Routes by which an app's own server sends messages for a participant, for a bot or under a name, immediately or with
/// a delay.
struct ServerMessageRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let conversation = routes.server("/conversations/:id/messages")
        conversation.on(.get, use: list)
        conversation.on(.post, use: send)
        conversation.on(.get, ":message", use: load)
        conversation.on(.delete, ":message", use: delete)
        // The answer to a creation in version 1.x names this path.
        let messages = routes.server("/messages")
        messages.on(.get, ":id", use: loadAnywhere)
        messages.on(.delete, ":id", use: deleteAnywhere)
    }

    private func list(
        _ asked: ObjectRequest<ConversationID, ListRequest<PageQuery<MessageID>>>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let (id, query, renderer) = (asked.id, asked.content.query, renderer(of: context))
        let page = try await services.messages(in: id, pageSize: query.pageSize, from: query.fromID, for: context.call)
        let headers = headers(of: page, in: context, list: "/conversations/\(id)/messages", query: asked.content.text)
        return try await .list(page.objects, headers: headers, to: context) {
            renderer.writeMessage($0, form: .read, into: &$1)
        }
    }

    /// Sends the messages of an array in their order. The first refused message ends the request; those before it stay
    /// sent.
    private func send(
        _ asked: ObjectRequest<ConversationID, NewServerMessages>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        let accepted = RESTAnswer(status: .accepted)
        var answer = accepted
        for (id, body) in asked.content.messages {
            var call = context.call
            // An idempotency key names one change. A batch is repeatable because its messages have the same ids again.
            if asked.content.isBatch { call.idempotencyKey = nil }
            do throws(Failure) {
                if let schedule = body.schedule {
                    try await services.schedule(body, schedule, as: id, to: asked.id, for: call)
                    continue
                }
                let (message, place) = try await services.sendByServer(body, as: id, to: asked.id, for: call)
                answer = .json(.created) { renderer(of: context).writeMessage(message, form: .created, into: &$0) }
                    .at(place)
            } catch {
                throw Self.naming(error, in: context.version)
            }
        }
        return asked.content.isBatch ? accepted : answer
    }

    /// Returns the failure with the version's name for the sender property. Services do not know the version.
    private static func naming(_ failure: Failure, in version: ServerVersion) -> Failure {
        guard failure.code == .invalidProperty, failure.detail == .property("sender") else { return failure }
        return .invalid(version < .v2 ? "sender.user_id" : "sender_id", reason: "has no identity")
    }

    private func load(_ asked: MessageInConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let message = try await services.message(asked.message, in: asked.conversation, for: context.call)
        return .json { renderer(of: context).writeMessage(message, form: .read, into: &$0) }
    }

    private func loadAnywhere(_ id: MessageID, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let message = try await services.message(id, for: context.call)
        return .json { renderer(of: context).writeMessage(message, form: .read, into: &$0) }
    }

    private func delete(_ asked: MessageInConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(
            try await services.deleteMessage(
                asked.message, in: asked.conversation, mode: .allParticipants, for: context.call))
    }

    private func deleteAnywhere(_ id: MessageID, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.deleteMessage(id, mode: .allParticipants, for: context.call))
    }
}
