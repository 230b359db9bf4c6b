// SPDX-License-Identifier: Apache-2.0

/// The reason for refusing a request, in terms of the public protocol (docs/conformance.md §1.11). It travels between
/// services and to the client.
///
/// Its text never contains message text, tokens or SQL.
public struct Failure: Error, Hashable, Sendable {
    /// The error codes: stable identifiers for clients.
    public enum Code: Int, Sendable, CaseIterable {
        case serviceUnavailable = 1
        case invalidAppID = 2
        case invalidRequestID = 3
        case authenticationRequired = 4
        case appSuspended = 5
        case userSuspended = 6
        case rateLimitExceeded = 7
        case requestTimeout = 8
        case invalidOperation = 9
        case invalidRequest = 10
        case internalServerError = 100
        case accessDenied = 101
        case notFound = 102
        /// Sent only to an app's own server.
        case objectDeleted = 103
        case missingProperty = 104
        case invalidProperty = 105
        case invalidEndpoint = 106
        case invalidHeader = 107
        case conflict = 108
        case methodNotAllowed = 109
        case idInUse = 111
        /// An extension of Strata: a create on a socket was not carried out because the create it depends on failed.
        case predecessorFailed = 112

        /// The `id` member of an error object.
        public var id: String {
            switch self {
            case .serviceUnavailable: "service_unavailable"
            case .invalidAppID: "invalid_app_id"
            case .invalidRequestID: "invalid_request_id"
            case .authenticationRequired: "authentication_required"
            case .appSuspended: "app_suspended"
            case .userSuspended: "user_suspended"
            case .rateLimitExceeded: "rate_limit_exceeded"
            case .requestTimeout: "request_timeout"
            case .invalidOperation: "invalid_operation"
            case .invalidRequest: "invalid_request"
            case .internalServerError: "internal_server_error"
            case .accessDenied: "access_denied"
            case .notFound: "not_found"
            case .objectDeleted: "object_deleted"
            case .missingProperty: "missing_property"
            case .invalidProperty: "invalid_property"
            case .invalidEndpoint: "invalid_endpoint"
            case .invalidHeader: "invalid_header"
            case .conflict: "conflict"
            case .methodNotAllowed: "method_not_allowed"
            case .idInUse: "id_in_use"
            case .predecessorFailed: "predecessor_failed"
            }
        }

        /// The HTTP status of a response with this error.
        public var status: Int {
            switch self {
            case .serviceUnavailable: 503
            case .invalidAppID, .appSuspended, .userSuspended, .accessDenied: 403
            case .invalidRequestID, .invalidRequest: 400
            case .authenticationRequired: 401
            case .rateLimitExceeded: 429
            case .requestTimeout: 408
            case .invalidOperation, .missingProperty, .invalidProperty: 422
            case .internalServerError: 500
            case .notFound, .invalidEndpoint: 404
            case .objectDeleted: 410
            case .invalidHeader: 406
            case .methodNotAllowed: 405
            case .conflict, .idInUse: 409
            case .predecessorFailed: 424
            }
        }
    }

    /// The content of the `data` member.
    public indirect enum Detail: Hashable, Sendable {
        case none
        /// A dotted path with indexes, for example `parts.0.mime_type`.
        case property(String)
        case header(String)
        /// A fresh nonce, with ``Code/authenticationRequired``.
        case nonce(String)
        /// The existing object, with ``Code/conflict`` and ``Code/idInUse``.
        case conversation(ConversationView)
        case message(Message)
        /// The `request_id` of the failed create, with ``Code/predecessorFailed``. The gateway sends it only to its
        /// client.
        case predecessor(String)
    }

    /// The error code, which determines the HTTP status.
    public var code: Code
    /// An English sentence for humans. Clients must not depend on it.
    public var message: String
    /// Details beyond the code: the property, the header, the nonce or the object.
    public var detail: Detail
    /// Creates a failure for which no function below exists. `detail` must match the code: for example,
    /// `invalid_property` requires the property.
    public init(_ code: Code, _ message: String, detail: Detail = .none) {
        self.code = code
        self.message = message
        self.detail = detail
    }

    /// Returns the failure for a missing required member.
    public static func missing(_ property: String) -> Failure {
        Failure(.missingProperty, "The property \(property) is required.", detail: .property(property))
    }
    /// Returns the failure for a member with an invalid value. `reason` completes the sentence "The property x …".
    public static func invalid(_ property: String, reason: String) -> Failure {
        Failure(.invalidProperty, "The property \(property) \(reason).", detail: .property(property))
    }
    /// Returns the failure for an object that does not exist or is not visible to the user.
    public static func notFound(_ what: String) -> Failure { Failure(.notFound, "No such \(what).") }
    /// Returns the failure for an object that the user may know of but no longer access.
    public static func accessDenied(_ why: String) -> Failure { Failure(.accessDenied, why) }
    /// The failure that reports an unavailable dependency. The client should retry.
    public static let unavailable = Failure(
        .serviceUnavailable, "The service is not available at the moment, please try again.")
}
