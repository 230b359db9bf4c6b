// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import StrataModel
import StrataWire

struct BlockRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let blocks = routes.signedIn("/blocks", isOnBehalf: false)
        blocks.on(.get, use: list)
        blocks.on(.put, "users/:user", use: block)
        blocks.on(.delete, "users/:user", use: unblock)
    }

    private func list(_ asked: ListRequest<UsersQuery>, in context: SignedInContext) async throws(Failure) -> RESTAnswer
    {
        let page = try await services.blocks(
            pageSize: asked.query.pageSize, from: asked.query.fromID, for: context.call)
        let renderer = self.renderer(for: context)
        return .list(page.objects, headers: headers(of: page, in: context, list: "/blocks", query: asked.text)) {
            renderer.writeBasicIdentity($0, into: &$1)
        }
    }

    private func block(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        guard user != context.reader else { throw .invalid("user_id", reason: "is your own") }
        return .noContent.at(try await services.changeBlocks([.add([user])], for: context.call))
    }

    private func unblock(_ user: UserID, in context: SignedInContext) async throws(Failure) -> RESTAnswer {
        .noContent.at(try await services.changeBlocks([.remove([user])], for: context.call))
    }
}
