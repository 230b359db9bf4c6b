// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

/// Routes by which an app's own server manages conversations. The server participates in none of them and sees all.
struct ServerConversationRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let conversations = routes.server("/conversations")
        conversations.on(.post, use: create)
        conversations.on(.get, ":id", use: load)
        conversations.on(.patch, ":id", use: patch)
        conversations.on(.delete, ":id", use: delete)
    }

    private func create(_ asked: NewServerConversation, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let creation = try await services.createByServer(asked.body, for: context.call)
        return
            .json(creation.isNew ? .created : .ok) { renderer(of: context).writeConversation(creation.view, into: &$0) }
            .at(creation.place)
    }

    private func load(_ id: ConversationID, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        let view = try await services.conversation(id, for: context.call)
        return .json { renderer(of: context).writeConversation(view, into: &$0) }
    }

    private func patch(
        _ asked: ObjectRequest<ConversationID, ConversationPatch>, in context: ServerContext
    ) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.patchByServer(asked.id, with: asked.content, for: context.call))
    }

    private func delete(_ id: ConversationID, in context: ServerContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.deleteByServer(id, for: context.call))
    }
}
