// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// A method and path of the endpoint index (section 2), for rules that apply to all endpoints.
struct Endpoint: Sendable {
    let method: String
    /// The path as written in the index, with placeholders.
    let pattern: String
    let body: JSONValue?
    let kind: Rule.Kind

    init(_ method: String, _ pattern: String, body: JSONValue? = nil, _ kind: Rule.Kind = .core) {
        self.method = method
        self.pattern = pattern
        self.body = body
        self.kind = kind
    }

    /// The path with ids of nonexistent objects.
    var path: String {
        pattern.split(separator: "/")
            .map { piece in
                switch piece {
                case ":uuid", ":part": Layer.uuid()
                case ":user_id", ":device_id": "somebody"
                default: String(piece)
                }
            }
            .reduce("") { "\($0)/\($1)" }
    }

    var name: String { "\(method) \(pattern)" }

    /// Endpoints that require a session.
    static let signedIn = [
        Endpoint("POST", "/push_tokens", body: ["token": "t", "type": "apns", "device_id": "d"], .doc),
        Endpoint("DELETE", "/push_tokens/:device_id", .doc),
        Endpoint("GET", "/identities"), Endpoint("GET", "/identities/:user_id"),
        Endpoint("GET", "/following", .doc), Endpoint("GET", "/following/users/:user_id", .doc),
        Endpoint("PUT", "/following/users/:user_id"),
        Endpoint("POST", "/following/users", body: ["somebody"], .doc), Endpoint("DELETE", "/following/users/:user_id"),
        Endpoint("GET", "/blocks", .doc), Endpoint("PUT", "/blocks/users/:user_id", .doc),
        Endpoint("DELETE", "/blocks/users/:user_id", .doc),
        Endpoint("GET", "/conversations"), Endpoint("GET", "/conversations/:uuid"),
        Endpoint("POST", "/conversations", body: ["participants": []], .doc),
        Endpoint("PATCH", "/conversations/:uuid", body: []),
        Endpoint("DELETE", "/conversations/:uuid"), Endpoint("POST", "/conversations/:uuid/mark_all_read"),
        Endpoint(
            "POST", "/conversations/:uuid/receipts",
            body: ["type": "read", "ids": ["layer:///messages/00000000-0000-4000-8000-000000000000"]], .doc),
        Endpoint("GET", "/conversations/:uuid/messages"),
        Endpoint(
            "POST", "/conversations/:uuid/messages", body: ["parts": [["mime_type": "text/plain", "body": "x"]]], .doc),
        Endpoint("GET", "/messages/:uuid"), Endpoint("DELETE", "/messages/:uuid"),
        Endpoint("POST", "/messages/:uuid/receipts", body: ["type": "read"]),
        Endpoint("GET", "/messages/:uuid/parts", .doc), Endpoint("GET", "/messages/:uuid/parts/:part", .doc),
        Endpoint("POST", "/messages/:uuid/parts", body: ["mime_type": "text/plain", "body": "x"], .doc),
        Endpoint("PUT", "/messages/:uuid/parts", body: [["mime_type": "text/plain", "body": "x"]], .doc),
        Endpoint("PUT", "/messages/:uuid/parts/:part", body: ["mime_type": "text/plain", "body": "x"], .doc),
        Endpoint("DELETE", "/messages/:uuid/parts/:part", .doc),
        Endpoint("POST", "/content"), Endpoint("GET", "/content/:uuid"),
        Endpoint("GET", "/announcements"), Endpoint("GET", "/announcements/:uuid"),
        Endpoint("POST", "/announcements/:uuid/receipts", body: ["type": "read"]),
        Endpoint("DELETE", "/announcements/:uuid"),
        Endpoint("GET", "/channels", .doc),
    ]

    /// Endpoints that require a version, but no session.
    static let versioned = [
        Endpoint("POST", "/nonces"), Endpoint("POST", "/sessions", body: ["app_id": "x", "identity_token": "x"]),
        Endpoint("DELETE", "/sessions/:uuid"),
    ]
}
