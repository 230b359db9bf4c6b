// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

/// What an answer of the server means for a pending change.
enum ServerAnswer: Sendable {
    /// Carried out, now or before.
    case success(object: JSONValue, positions: QueuedOperation.Positions)
    /// Refused for good.
    case refused(StrataError)
    /// Refused because content of its parts is not on the server, where it may have been.
    case contentGone(StrataError)
    /// Not carried out, as far as is known; to be sent again, as it was.
    /// - Parameters:
    ///   - counts: whether it is one of the attempts that are limited in number.
    ///   - after: the pause that the server asks for.
    case retry(StrataError, counts: Bool, after: Duration?)
    /// The session is over. Nothing is lost: the change waits for the next session.
    case signInNeeded

    init(_ answer: RESTAnswer) {
        if answer.isSuccess {
            func position(_ name: String) -> Int64? { answer.header(name).flatMap { Int64($0) }.flatMap { WireObjects.position($0) } }
            self = .success(
                object: answer.json, positions: .init(conversation: position("Strata-Position"), user: position("Strata-User-Position")))
        } else {
            self.init(errorID: answer.errorID ?? "", status: answer.status, error: answer.json, after: answer.retryAfter)
        }
    }

    init(_ answer: SocketAnswer) {
        if answer.isSuccess {
            self = .success(object: answer.data, positions: .init())
        } else {
            self.init(errorID: answer.errorID ?? "", status: 0, error: answer.data, after: nil)
        }
    }

    private init(errorID: String, status: Int, error: JSONValue, after: Duration?) {
        let text = error["message"].string ?? "The server answered \(status)."
        switch errorID {
        // What exists is what was to be made; or another distinct conversation of the same participants.
        case "id_in_use" where error["data"]["id"].string != nil, "conflict" where error["data"]["id"].string != nil:
            self = .success(object: error["data"], positions: .init())
        // It had arrived, and is gone for this user since: ids are random, so that no other object has this one.
        case "id_in_use": self = .success(object: .null, positions: .init())
        case "authentication_required": self = .signInNeeded
        case "predecessor_failed": self = .retry(StrataError(.networkRequestFailed, text), counts: false, after: nil)
        case "service_unavailable", "rate_limit_exceeded", "request_timeout", "internal_server_error":
            self = .retry(StrataError(.networkRequestFailed, text), counts: true, after: after)
        case "not_found": self = .refused(StrataError(.conversationDeleted, text))
        case "access_denied": self = .refused(StrataError(.userNotAParticipant, text))
        case "user_suspended", "app_suspended": self = .refused(StrataError(.notAuthenticated, text))
        case "invalid_property", "missing_property":
            let property = error["data"]["property"].string ?? ""
            if property == "content" || property.hasPrefix("parts.") && property.hasSuffix(".content") {
                self = .contentGone(StrataError(.invalidMessage, text))
                return
            }
            self = .refused(StrataError(property.hasPrefix("metadata") ? .invalidValue : .invalidMessage, text))
        default:
            let isTransient = status >= 500 || status == 429 || status == 408
            self =
                isTransient
                ? .retry(StrataError(.networkRequestFailed, text), counts: true, after: after) : .refused(StrataError(.unknown, text))
        }
    }
}
