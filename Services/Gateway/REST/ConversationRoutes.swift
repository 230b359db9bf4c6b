// SPDX-License-Identifier: Apache-2.0
import Foundation
import Hummingbird
import Model
import Wire

/// Conversations (spec 5).
extension RESTRouter {
    func registerConversations(on router: RESTRoutes) {
        on(router, .get, "/conversations", .signedIn) { request, context throws(Failure) in
            let query = try ConversationsQuery(parameter: Self.parameter(request))
            let reader = try context.reader()
            let (page, total) = try await services.conversations(
                orderedBy: query.order, pageSize: query.page.pageSize, from: query.page.fromID, try context.call())
            return try await .list(page, total: total, to: context) {
                services.renderer.write($0, for: reader, version: context.version, into: &$1)
            }
        }
        on(router, .post, "/conversations", .signedIn) { request, context throws(Failure) in
            let body = try CreateConversationBody(try await json(request))
            let creation = try await services.create(body, try context.call())
            let reader = try context.reader()
            return .json(creation.isNew ? .created : .ok) {
                services.renderer.write(creation.view, for: reader, version: context.version, into: &$0)
            }
        }
        on(router, .get, "/conversations/:id", .signedIn) { _, context throws(Failure) in
            let view = try await services.conversation(try context.conversationID(), try context.call())
            let reader = try context.reader()
            return .json { services.renderer.write(view, for: reader, version: context.version, into: &$0) }
        }
        on(router, .patch, "/conversations/:id", .signedIn) { request, context throws(Failure) in
            try requirePatchType(request)
            let patch = try ConversationPatch(try await json(request))
            try await services.patch(try context.conversationID(), patch, try context.call())
            return .noContent
        }
        on(router, .delete, "/conversations/:id", .signedIn) { request, context throws(Failure) in
            let query = try DeletionQuery(parameter: Self.parameter(request))
            try await services.deleteConversation(
                try context.conversationID(), mode: query.mode, leave: query.leave, try context.call())
            return .noContent
        }
        on(router, .post, "/conversations/:id/mark_all_read", .signedIn) { request, context throws(Failure) in
            let body = try MarkAllReadBody(try await optionalJSON(request))
            try await services.markAllRead(try context.conversationID(), upTo: body.upTo, try context.call())
            return .noContent
        }
    }

    private func requirePatchType(_ request: Request) throws(Failure) {
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased() ?? ""
        guard type == "application/vnd.layer-patch+json" else {
            throw Failure(
                .invalidHeader, "The Content-Type of a patch must be application/vnd.layer-patch+json.", detail: .header("Content-Type"))
        }
    }
}

extension RESTContext {
    func conversationID() throws(Failure) -> ConversationID { try id("id", what: "conversation") }
    func messageID() throws(Failure) -> MessageID { try id("id", what: "message") }
    /// A user id as it stands in a URL, or an identity's whole id escaped to one segment (spec 1.6).
    func userID() throws(Failure) -> UserID {
        guard let text = coreContext.parameters.get("user") else { throw .notFound("identity") }
        let whole = text.removingPercentEncoding.flatMap { $0.hasPrefix("layer:///identities/") ? $0 : nil }
        guard let user = UserID(parsing: whole ?? text) else { throw .notFound("identity") }
        return user
    }
}
