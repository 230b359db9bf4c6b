// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Messages and receipts (docs/conformance.md §6, §7).
struct MessageRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let conversation = routes.signedIn("/conversations/:id/messages")
        conversation.on(.get, use: list)
        conversation.on(.post, use: send)
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
        return try await .list(page.objects, headers: headers, to: context) {
            renderer.writeMessage($0, for: context.reader, version: context.version, into: &$1)
        }
    }

    private func send(_ asked: ObjectRequest<ConversationID, SendMessageBody>, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let (message, place) = try await services.send(asked.content, to: asked.id, for: context.call)
        return .json(.created) { renderer(for: context).writeMessage(message, for: context.reader, version: context.version, into: &$0) }.at(place)
    }

    private func load(_ id: MessageID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let message = try await services.message(id, for: context.call)
        return .json { renderer(for: context).writeMessage(message, for: context.reader, version: context.version, into: &$0) }
    }

    private func delete(_ asked: ObjectRequest<MessageID, DeletionQuery>, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.deleteMessage(asked.id, mode: asked.content.mode, for: context.call))
    }

    private func giveReceipt(_ asked: ObjectRequest<MessageID, ReceiptBody>, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.giveReceipt(asked.id, kind: asked.content.kind, for: context.call))
    }
}
