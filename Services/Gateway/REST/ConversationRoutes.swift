// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Routes for conversations (docs/conformance.md §5).
struct ConversationRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let conversations = routes.signedIn("/conversations")
        conversations.on(.get, use: list)
        conversations.on(.post, use: create)
        conversations.on(.get, ":id", use: load)
        conversations.on(.patch, ":id", use: patch)
        conversations.on(.delete, ":id", use: delete)
        conversations.on(.post, ":id/mark_all_read", use: markAllRead)
        conversations.on(.post, ":id/receipts", use: giveReceipts)
    }

    private func list(
        _ asked: ListRequest<ConversationsQuery>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let (query, renderer) = (asked.query, self.renderer(for: context))
        if let messages = query.messages {
            let page = try await services.loadConversations(
                orderedBy: query.order, pageSize: query.page.pageSize, from: query.page.fromID, messages: messages,
                for: context.call)
            return try await .list(
                page.objects, headers: headers(of: page, in: context, list: "/conversations", query: asked.text),
                to: context
            ) {
                renderer.writeLoadedConversation($0, for: context.reader, version: context.version, into: &$1)
            }
        }
        let page =
            if let condition = query.condition {
                try await services.conversations(
                    matching: condition, pageSize: query.page.pageSize, from: query.page.fromID, for: context.call)
            } else {
                try await services.conversations(
                    orderedBy: query.order, pageSize: query.page.pageSize, from: query.page.fromID, for: context.call)
            }
        let older = olderRenderer(for: context)
        return try await .list(
            page.objects, headers: headers(of: page, in: context, list: "/conversations", query: asked.text),
            to: context
        ) {
            if let older { return older.writeConversation($0, into: &$1) }
            renderer.writeConversation($0, for: context.reader, version: context.version, into: &$1)
        }
    }

    private func create(_ body: CreateConversationBody, in context: SignedInContext) async throws(Failure) -> RESTAnswer
    {
        let creation = try await services.create(body, for: context.call)
        return
            .json(creation.isNew ? .created : .ok) { write(creation.view, in: context, into: &$0) }.at(creation.place)
    }

    private func load(_ id: ConversationID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        let view = try await services.conversation(id, for: context.call)
        return .json { write(view, in: context, into: &$0) }
    }

    private func write(_ view: ConversationView, in context: SignedInContext, into writer: inout JSONWriter) {
        if let older = olderRenderer(for: context) { return older.writeConversation(view, into: &writer) }
        renderer(for: context).writeConversation(view, for: context.reader, version: context.version, into: &writer)
    }

    private func patch(
        _ asked: ObjectRequest<ConversationID, ConversationPatch>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.patch(asked.id, with: asked.content, for: context.call))
    }

    private func delete(
        _ asked: ObjectRequest<ConversationID, ConversationDeletionQuery>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let query = asked.content
        return .noContent.at(
            try await services.deleteConversation(
                asked.id, mode: query.mode, leave: query.leave, upTo: query.upTo, for: context.call))
    }

    private func markAllRead(
        _ asked: ObjectRequest<ConversationID, MarkAllReadBody>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let (place, readUpTo) = try await services.markAllRead(asked.id, upTo: asked.content.upTo, for: context.call)
        guard context.request.isServerRequest else { return .noContent.at(place) }
        return
            .json(.accepted) { writer in
                writer.beginObject()
                writer.key("position")
                if let position = readUpTo ?? place.position { writer.int(position.wireValue) } else { writer.null() }
                writer.endObject()
            }
            .at(place)
    }

    private func giveReceipts(
        _ asked: ObjectRequest<ConversationID, ReceiptsBody>, in context: SignedInContext
    ) async throws(Failure) -> RESTAnswer {
        let body = asked.content
        let (ignored, place) = try await services.giveReceipts(
            body.messages, in: asked.id, kind: body.kind, for: context.call)
        return .json { renderer(for: context).writeIgnoredMessages(ignored, into: &$0) }.at(place)
    }
}
