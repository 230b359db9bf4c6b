// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 3.4: identity tokens and their side effects.
extension S03 {
    // MARK: 3.4

    private static let absent: JSONValue = [:]

    /// A rule on an invalid identity token. All are refused alike.
    private static func unbelieved(
        _ what: String, _ attempt: @escaping @Sendable (Fixture) async throws -> RESTResponse
    ) -> Rule {
        Rule("3.4", "an identity token \(what) is 422 invalid_property identity_token") { f in
            f.refused(try await attempt(f), "invalid_property", property: "identity_token")
        }
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }

    static let identityTokens: [Rule] = [
        unbelieved("that is no token") { f in try await post(f, f.app.id, "not.a.token") },
        Rule("3.4", "an identity token that is empty is 422 identity_token") { f in
            let answer = try await post(f, f.app.id, "")
            f.refused(
                answer, answer.errorID == "missing_property" ? "missing_property" : "invalid_property",
                property: "identity_token")
        },
        unbelieved("with two parts") { f in try await post(f, f.app.id, "eyJhbGciOiJSUzI1NiJ9.e30") },
        unbelieved("signed with another key") { f in try await signIn(f, key: f.system.strangeKey) },
        unbelieved("whose claims were changed after it was signed") { f in
            let nonce = try await f.client.nonce()
            let claims = f.app.claims(f.stranger("ana"), nonce: nonce, name: nil)
            var parts = try f.app.tokens.token(header: f.app.header, claims: claims).split(separator: ".")
                .map(String.init)
            parts[1] = TokenMaker.base64URL(Data(f.app.claims(f.stranger("eve"), nonce: nonce, name: nil).text.utf8))
            return try await post(f, f.app.id, parts.joined(separator: "."))
        },
        unbelieved("with alg none") { f in try await signIn(f, header: ["alg": "none"]) },
        unbelieved("with alg HS256") { f in try await signIn(f, header: ["alg": "HS256"]) },
        unbelieved("with alg RS512") { f in try await signIn(f, header: ["alg": "RS512"]) },
        unbelieved("without alg") { f in try await signIn(f, header: ["alg": absent]) },
        unbelieved("with another cty") { f in try await signIn(f, header: ["cty": "layer-eit;v=2"]) },
        unbelieved("without cty") { f in try await signIn(f, header: ["cty": absent]) },
        unbelieved("of an unknown key") { f in
            try await signIn(f, header: ["kid": .string("layer:///keys/\(Layer.uuid())")])
        },
        unbelieved("without kid") { f in try await signIn(f, header: ["kid": absent]) },
        unbelieved("of another provider") { f in
            try await signIn(f, claims: ["iss": .string("layer:///providers/\(Layer.uuid())")])
        },
        unbelieved("without iss") { f in try await signIn(f, claims: ["iss": absent]) },
        unbelieved("without prn") { f in try await signIn(f, claims: ["prn": absent]) },
        unbelieved("with an empty prn") { f in try await signIn(f, claims: ["prn": ""]) },
        unbelieved("whose prn is no string") { f in try await signIn(f, claims: ["prn": 5]) },
        unbelieved("with a prn of more than 128 bytes") { f in
            try await signIn(f, claims: ["prn": .string(String(repeating: "x", count: 129))])
        },
        unbelieved("that has expired") { f in
            try await signIn(f, claims: ["exp": .integer(now() - 120), "iat": .integer(now() - 600)])
        },
        unbelieved("without exp") { f in try await signIn(f, claims: ["exp": absent]) },
        unbelieved("issued far in the future") { f in
            try await signIn(f, claims: ["iat": .integer(now() + 600), "exp": .integer(now() + 1200)])
        },
        unbelieved("with an invented nonce") { f in try await signIn(f, nonce: "0f4c1b7e9d2a4e3f8f1f6f0c7a6b5d41") },
        unbelieved("without a nonce") { f in try await signIn(f, claims: ["nce": absent]) },
        unbelieved("of another app") { f in
            guard let other = f.system.otherApp else { throw HarnessError("there is no second app") }
            return try await signIn(f, app: other, appID: f.app.id)
        },
        Rule("3.4", "clocks may differ by a minute: a token issued 30 seconds ahead is believed", .doc) { f in
            f.succeeded(try await signIn(f, claims: ["iat": .integer(now() + 30)]), 201)
        },
        Rule("3.4", "typ JWT and JWS are both accepted") { f in
            for type in ["JWT", "JWS"] { f.succeeded(try await signIn(f, header: ["typ": .string(type)]), 201) }
        },
        Rule("3.4", "kid is a UUID or layer:///keys/ and a UUID") { f in
            for id in ["layer:///keys/\(Layer.last(f.app.key))", Layer.last(f.app.key)] {
                f.succeeded(try await signIn(f, header: ["kid": .string(id)]), 201)
            }
        },
        Rule("3.4", "iss is a UUID or layer:///providers/ and a UUID") { f in
            for id in ["layer:///providers/\(Layer.last(f.app.provider))", Layer.last(f.app.provider)] {
                f.succeeded(try await signIn(f, claims: ["iss": .string(id)]), 201)
            }
        },
        Rule("3.4", "a token that is refused does not use up its nonce") { f in
            let nonce = try await f.client.nonce()
            f.refused(try await signIn(f, nonce: nonce, key: f.system.strangeKey), "invalid_property")
            f.refused(try await signIn(f, nonce: nonce, claims: ["exp": .integer(now() - 120)]), "invalid_property")
            f.succeeded(try await signIn(f, nonce: nonce), 201)
        },
        Rule("3.4", "users of two apps do not meet, even if they are called the same", .doc) { f in
            guard let other = f.system.otherApp else { return f.skip("there is no second app") }
            let ana = try await f.user("ana")
            let stranger = try await f.user("ana", app: other)
            let conversation = try await ana.converse([])
            f.refused(try await stranger.call("GET", Layer.path(conversation)), "not_found")
            f.equal(try await stranger.get("/conversations"), [])
        },
    ]

    private static let fields: [(name: String, value: JSONValue)] = [
        ("display_name", "Ana Silva"), ("avatar_url", "https://cdn.example/ana.png"), ("first_name", "Ana"),
        ("last_name", "Silva"),
        ("public_key", "key"), ("phone_number", "+351 1"), ("email_address", "ana@example.org"),
    ]

    static let sideEffects: [Rule] = [
        Rule("3.4", "the first sign-in creates the identity with what the token says of it") { f in
            let user = f.stranger("ana")
            let answer = try await signIn(
                f, user: user, claims: Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) }))
            let session = try f.need(answer.json["session_token"].string, "session: \(answer.json)")
            let identity = try await f.client.call("GET", "/identities/\(user)", token: session).json
            for (name, value) in fields { f.equal(identity[name], value, name) }
        },
        Rule("3.4", "a later sign-in changes what its token says otherwise, and nothing it does not name", .doc) { f in
            let user = f.stranger("ana")
            f.succeeded(try await signIn(f, user: user, claims: ["display_name": "Ana", "first_name": "A"]), 201)
            let session = try await signIn(f, user: user, claims: ["display_name": "Ana Silva"]).json["session_token"]
                .string
            let identity = try await f.client.call("GET", "/identities/\(user)", token: session).json
            f.equal(identity["display_name"], "Ana Silva")
            f.equal(identity["first_name"], "A")
        },
        Rule(
            "3.4",
            "the change of an identity by signing in reaches the user's own sockets and those of their followers", .doc
        ) { f in
            let (ana, ben) = (try await f.user("ana"), try await f.user("ben", gateway: 1))
            let (own, other) = (try await ana.socket(), try await ben.socket())
            try await ana.converse(ben)
            for socket in [own, other] { try await socket.change("create", "Conversation") }
            _ = try await f.user(id: ana.userID, name: "Ana the Second", gateway: 1)
            for socket in [own, other] {
                let update = try await socket.change("update", "Identity", ana.id)
                f.check(update.data.has("set", "display_name", value: "Ana the Second"), "\(update.data)")
            }
        },
    ]
}
