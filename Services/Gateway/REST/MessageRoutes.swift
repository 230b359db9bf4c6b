// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import Model
import Wire

/// Messages and receipts (spec 6, 7).
extension RESTRouter {
    func registerMessages(on router: RESTRoutes) {
        on(router, .get, "/conversations/:id/messages", .signedIn) { request, context throws(Failure) in
            let query = try PageQuery<MessageID>(parameter: Self.parameter(request))
            let reader = try context.reader()
            let (page, total) = try await services.messages(
                in: try context.conversationID(), pageSize: query.pageSize, from: query.fromID, try context.call())
            return try await .list(page, total: total, to: context) {
                services.renderer.write($0, for: reader, version: context.version, into: &$1)
            }
        }
        on(router, .post, "/conversations/:id/messages", .signedIn) { request, context throws(Failure) in
            let body = try SendMessageBody(try await json(request), version: context.version, partsLimit: services.settings.partsLimit)
            let message = try await services.send(body, to: try context.conversationID(), try context.call())
            let reader = try context.reader()
            return .json(.created) { services.renderer.write(message, for: reader, version: context.version, into: &$0) }
        }
        on(router, .get, "/messages/:id", .signedIn) { _, context throws(Failure) in
            let message = try await services.message(try context.messageID(), try context.call())
            let reader = try context.reader()
            return .json { services.renderer.write(message, for: reader, version: context.version, into: &$0) }
        }
        on(router, .delete, "/messages/:id", .signedIn) { request, context throws(Failure) in
            let query = try DeletionQuery(parameter: Self.parameter(request))
            try await services.deleteMessage(try context.messageID(), mode: query.mode, try context.call())
            return .noContent
        }
        on(router, .post, "/messages/:id/receipts", .signedIn) { request, context throws(Failure) in
            let body = try ReceiptBody(try await json(request))
            try await services.giveReceipt(try context.messageID(), kind: body.kind, try context.call())
            return .noContent
        }
    }
}
