// SPDX-License-Identifier: Apache-2.0
import FanOut
import Hummingbird
import RPC
import StrataModel

/// The precedence and wording of errors that the Server API requires (docs/server-api.md).
extension RESTContext {
    /// Returns the failure for an unknown `from_id`. An app's own server receives `not_found`; a client receives
    /// `invalid_property`.
    /// - Parameter failure: the failure of a valid request.
    func mapUnknownCursor(_ failure: Failure) -> Failure {
        guard isServerRequest, failure.code == .invalidProperty, failure.detail == .property("from_id") else {
            return failure
        }
        return .notFound("object with this from_id in the list")
    }
}

extension ServedRoute {
    /// True if the route concerns a conversation of the app, or an object in it, and is called by the app's own server.
    var isInConversationOfServer: Bool { access == .server && path.hasPrefix("/apps/:app/conversations/:id") }
}

extension GatewayServices {
    /// Returns the failure that an app's own server receives for a request about a conversation. A missing
    /// conversation, or a missing message in the path, takes precedence over an invalid property. Its existence is
    /// checked only after such a failure, so that valid requests cost nothing more.
    func preferNotFound(_ failure: Failure, of context: RESTContext) async -> Failure {
        guard let server = context.server, failure.code == .invalidProperty || failure.code == .invalidOperation else {
            return failure
        }
        let call = Call(UserKey(app: server.app, user: .appServer), trace: context.trace, answers: context.answer)
        do throws(Failure) {
            let id: ConversationID = try context.id("id", what: "conversation")
            if context.parameters.get("message") == nil {
                try await checkConversation(id, for: call)
            } else {
                _ = try await message(context.messageID("message"), in: id, for: call)
            }
        } catch {
            if error.code == .notFound || error.code == .objectDeleted { return error }
        }
        return failure
    }
}
