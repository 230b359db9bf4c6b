// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import StrataModel

/// An error with its answer: `{"error": {"code", "message", "field"}}`.
struct Refusal: Error {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    var field: String?
    var headers: HTTPFields = [:]

    static let signedOut = Refusal(Failure(.authenticationRequired, "Please sign in."))
    static let noRight = Refusal(Failure(.accessDenied, "Only operators may do this; your role is viewer."))
    static let csrf = Refusal(
        status: .forbidden, code: "csrf", message: "The X-CSRF-Token is missing, or belongs to another session.")
    static let bodyTooLarge = Refusal(
        status: .contentTooLarge, code: Failure.Code.invalidRequest.id,
        message: "The body is larger than \(RequestBody.bytes) bytes.")

    init(status: HTTPResponse.Status, code: String, message: String) {
        (self.status, self.code, self.message) = (status, code, message)
    }

    init(_ failure: Failure) {
        self.init(
            status: HTTPResponse.Status(code: failure.code.status), code: failure.code.id, message: failure.message)
        if case .property(let name) = failure.detail { field = name }
    }

    /// The refusal for any error. An error that is no refusal becomes an internal one.
    init(_ error: any Error) {
        switch error {
        case let error as Refusal: self = error
        case let error as Failure: self.init(error)
        case let error as any HTTPResponseError where error.status == .notFound:
            self.init(Failure(.invalidEndpoint, "The path is unknown."))
        case let error as any HTTPResponseError:
            self.init(status: error.status, code: Failure.Code.invalidRequest.id, message: "The request is malformed.")
        default: self.init(Failure(.internalServerError, "An internal error occurred."))
        }
    }

    private struct Answer: Encodable {
        struct Content: Encodable {
            let code: String
            let message: String
            let field: String?
        }
        let error: Content
    }

    var response: Response {
        .json(Answer(error: .init(code: code, message: message, field: field)), status: status, headers: headers)
    }
}
