// SPDX-License-Identifier: Apache-2.0

/// Why a request was refused, in the terms of the public protocol (docs/conformance.md §1.11). Travels between the services and out to the client.
///
/// A message never holds text of messages, tokens or SQL.
public struct Failure: Error, Hashable, Sendable {
    /// The stable identifiers clients branch on.
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
        /// Only an app's own server is told.
        case objectDeleted = 103
        case missingProperty = 104
        case invalidProperty = 105
        case invalidEndpoint = 106
        case invalidHeader = 107
        case conflict = 108
        case methodNotAllowed = 109
        case idInUse = 111
        /// One of our own: a create on a socket that was not carried out because the one that it depends on failed.
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

        /// The HTTP status that goes with it.
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

    /// What the `data` member holds.
    public indirect enum Detail: Hashable, Sendable {
        case none
        /// Dotted path with index, for example `parts.0.mime_type`.
        case property(String)
        case header(String)
        /// A fresh nonce, with ``Code/authenticationRequired``.
        case nonce(String)
        /// The object that exists already, with ``Code/conflict`` and ``Code/idInUse``.
        case conversation(ConversationView)
        case message(Message)
        /// The `request_id` of the create that failed, with ``Code/predecessorFailed``. Does not leave the gateway but to its client.
        case predecessor(String)
    }

    /// What clients and the HTTP status go by.
    public var code: Code
    /// An English sentence for people; no client may depend on it.
    public var message: String
    /// What the code alone does not tell: the property, the header, the nonce or the object.
    public var detail: Detail
    /// For what none of the functions below says already. `detail` must be of the kind that the code needs: the property for `invalid_property`, for
    /// example.
    public init(_ code: Code, _ message: String, detail: Detail = .none) {
        self.code = code
        self.message = message
        self.detail = detail
    }

    /// A required member is absent.
    public static func missing(_ property: String) -> Failure {
        Failure(.missingProperty, "The property \(property) is required.", detail: .property(property))
    }
    /// A member has a value that cannot be taken; `reason` completes the sentence "The property x …".
    public static func invalid(_ property: String, reason: String) -> Failure {
        Failure(.invalidProperty, "The property \(property) \(reason).", detail: .property(property))
    }
    /// No such object, or none that this user may know of.
    public static func notFound(_ what: String) -> Failure { Failure(.notFound, "No such \(what).") }
    /// Known to this user, but no longer permitted.
    public static func accessDenied(_ why: String) -> Failure { Failure(.accessDenied, why) }
    /// Something we depend on is away; the client should try again.
    public static let unavailable = Failure(.serviceUnavailable, "The service is not available at the moment, please try again.")
}
