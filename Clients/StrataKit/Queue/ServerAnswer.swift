// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

/// The meaning of a server's answer for a pending change.
enum ServerAnswer: Sendable {
    /// The change was applied, by this request or an earlier one.
    case success(object: JSONValue, positions: QueuedOperation.Positions)
    case refused(StrataError)
    /// The change was refused because content of its parts is missing on the server. The server may have deleted it
    /// after the upload.
    case contentGone(StrataError)
    /// The change was probably not applied and must be sent again unchanged.
    /// - Parameters:
    ///   - counts: true if the attempt counts towards the limit.
    ///   - after: the delay that the server requests.
    case retry(StrataError, counts: Bool, after: Duration?)
    /// The session ended. The change stays queued for the next session.
    case signInNeeded

    init(_ answer: RESTResponse) {
        if answer.isSuccess {
            func position(_ name: String) -> Int64? {
                answer.header(name).flatMap { Int64($0) }.flatMap { WireObjects.position($0) }
            }
            self = .success(
                object: answer.json,
                positions: .init(conversation: position("Strata-Position"), user: position("Strata-User-Position")))
        } else {
            self.init(
                errorID: answer.errorID ?? "", status: answer.status, error: answer.json, after: answer.retryAfter)
        }
    }

    init(_ answer: SocketResponse) {
        if answer.isSuccess {
            self = .success(object: answer.data, positions: .init())
        } else {
            self.init(errorID: answer.errorID ?? "", status: 0, error: answer.data, after: nil)
        }
    }

    private init(errorID: String, status: Int, error: JSONValue, after: Duration?) {
        let text = error["message"].string ?? "The server answered \(status)."
        switch errorID {
        // The existing object is the result of an earlier attempt, or another distinct conversation of the same
        // participants.
        case "id_in_use" where error["data"]["id"].string != nil, "conflict" where error["data"]["id"].string != nil:
            self = .success(object: error["data"], positions: .init())
        // An earlier attempt succeeded, and the object has been deleted for this user since. Ids are random, so no
        // other object has this id.
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
                ? .retry(StrataError(.networkRequestFailed, text), counts: true, after: after)
                : .refused(StrataError(.unknown, text))
        }
    }
}
