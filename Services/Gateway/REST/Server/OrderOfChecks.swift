// SPDX-License-Identifier: Apache-2.0
import FanOut
import Hummingbird
import RPC
import StrataModel

/// What apps' own servers are told first where more than one thing is wrong, and in the words of the Server API (docs/server-api.md).
extension RESTContext {
    /// An app's own server is told that there is nothing to go on from in a list, where a client is told that the parameter is wrong.
    /// - Parameter failure: of a request that was understood.
    func ofUnknownCursor(_ failure: Failure) -> Failure {
        guard isServerRequest, failure.code == .invalidProperty, failure.detail == .property("from_id") else { return failure }
        return .notFound("object with this from_id in the list")
    }
}

extension ServedRoute {
    /// Whether an app's own server is asked about a conversation of the app, or something in it.
    var isInConversationOfServer: Bool { access == .server && path.hasPrefix("/apps/:app/conversations/:id") }
}

extension GatewayServices {
    /// What an app's own server is told of a request about a conversation of the app: that the conversation, or the message in the path, is not
    /// there comes before what is wrong with a member. Whether it is there is looked up only then, so that good requests cost nothing more.
    func inOrder(_ failure: Failure, of context: RESTContext) async -> Failure {
        guard let server = context.server, failure.code == .invalidProperty || failure.code == .invalidOperation else { return failure }
        let call = Call(UserKey(app: server.app, user: .appServer), trace: context.trace, answers: context.answer)
        do throws(Failure) {
            let id: ConversationID = try context.id("id", what: "conversation")
            if context.parameters.get("message") == nil {
                _ = try await bareConversation(id, for: call)
            } else {
                _ = try await message(context.messageID("message"), in: id, for: call)
            }
        } catch {
            if error.code == .notFound || error.code == .objectDeleted { return error }
        }
        return failure
    }
}
