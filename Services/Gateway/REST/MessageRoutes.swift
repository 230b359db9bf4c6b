// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Routes for messages and receipts (docs/conformance.md §6, §7).
struct MessageRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let conversation = routes.signedIn("/conversations/:id/messages")
        conversation.on(.get, use: list)
        conversation.on(.post, use: send)
        // Apps' own servers can also address a message below its conversation.
        let below = routes.onBehalf("/conversations/:id/messages/:message")
        below.on(.get, use: loadBelow)
        below.on(.delete, use: deleteBelow)
        let messages = routes.signedIn("/messages")
        messages.on(.get, ":id", use: load)
        messages.on(.delete, ":id", use: delete)
        messages.on(.post, ":id/receipts", use: giveReceipt)
    }

    private func list(
        _ asked: ObjectRequest<ConversationID, ListRequest<PageQuery<MessageID>>>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let (id, query, renderer) = (asked.id, asked.content.query, self.renderer(for: context))
        let page = try await services.messages(in: id, pageSize: query.pageSize, from: query.fromID, for: context.call)
        let headers = headers(of: page, in: context, list: "/conversations/\(id)/messages", query: asked.content.text)
        let older = olderRenderer(for: context)
        return try await .list(page.objects, headers: headers, to: context) {
            if let older { return older.writeMessage($0, form: .read, into: &$1) }
            renderer.writeMessage($0, for: context.reader, version: context.version, into: &$1)
        }
    }

    private func send(
        _ asked: ObjectRequest<ConversationID, SendMessageBody>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let (message, place) = try await services.send(asked.content, to: asked.id, for: context.call)
        // A signal on the user's socket may reach the fan-out later than the message, so the fan-out cannot end it.
        services.endTyping(of: context.call.key, in: asked.id)
        return .json(.created) { write(message, form: .created, in: context, into: &$0) }.at(place)
    }

    private func load(_ id: MessageID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let message = try await services.message(id, for: context.call)
        return .json { write(message, form: .read, in: context, into: &$0) }
    }

    private func loadBelow(
        _ asked: MessageInConversation, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let message = try await services.message(asked.message, in: asked.conversation, for: context.call)
        return .json { write(message, form: .read, in: context, into: &$0) }
    }

    /// - Parameter form: the form for a server of version 1.x. The Client API has one form.
    private func write(
        _ message: Message, form: ServerRenderer.Form, in context: SignedInContext, into writer: inout JSONWriter
    ) {
        if let older = olderRenderer(for: context) { return older.writeMessage(message, form: form, into: &writer) }
        renderer(for: context).writeMessage(message, for: context.reader, version: context.version, into: &writer)
    }

    private func delete(
        _ asked: ObjectRequest<MessageID, DeletionQuery>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.deleteMessage(asked.id, mode: asked.content.mode, for: context.call))
    }

    private func deleteBelow(
        _ asked: ObjectRequest<MessageInConversation, DeletionQuery>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let (id, mode) = (asked.id, asked.content.mode)
        return .noContent.at(
            try await services.deleteMessage(id.message, in: id.conversation, mode: mode, for: context.call))
    }

    private func giveReceipt(
        _ asked: ObjectRequest<MessageID, ReceiptBody>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.giveReceipt(asked.id, kind: asked.content.kind, for: context.call))
    }
}
