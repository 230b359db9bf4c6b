// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// 3 Root, ping, authentication, push tokens.
enum S03 {
    static let rules: [Rule] = root + ping + nonces + signingIn + identityTokens + sideEffects + expiry + signingOut + pushTokens

    // MARK: 3.1

    /// The links of a `Link` header, read as stock clients do: cut at `,`, then at `;`, which must give two pieces.
    private static func links(_ answer: RESTAnswer) -> [String: String] {
        var links: [String: String] = [:]
        for link in (answer.header("Link") ?? "").split(separator: ",") {
            let pieces = link.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard pieces.count == 2, pieces[0].hasPrefix("<"), pieces[0].hasSuffix(">"), pieces[1].hasPrefix("rel=") else { continue }
            links[pieces[1].dropFirst(4).trimmingCharacters(in: CharacterSet(charactersIn: "\""))] = String(pieces[0].dropFirst().dropLast())
        }
        return links
    }

    private static func expectedLinks(_ f: Fixture) -> [String: String] {
        let base = f.system.publicURL
        return [
            "nonces": base + "/nonces", "sessions": base + "/sessions", "conversations": base + "/conversations", "content": base + "/content",
            "websocket": "wss://" + base.dropFirst("https://".count),
        ]
    }

    private static let root: [Rule] = [
        Rule("3.1", "GET / is 200 with the links of nonces, sessions, conversations, content and websocket") { f in
            let answer = try await f.client.call("GET", "/", deadline: Fixture.deadline)
            f.succeeded(answer, 200)
            f.check(answer.body.isEmpty || answer.json == [:], "a body")
            f.equal(links(answer), expectedLinks(f))
        },
        Rule("3.1", "GET / with a session is 200") { f in
            let ana = try await f.user("ana")
            f.succeeded(try await ana.call("GET", "/"), 200)
        },
        Rule("3.1", "GET / with an Authorization header that is no good is 401 with a nonce") { f in
            for header in ["Layer session-token=\"unknown\"", "Layer session-token=\"\"", "Bearer x", "nonsense"] {
                let answer = try await f.client.call("GET", "/", headers: ["Authorization": header], deadline: Fixture.deadline)
                f.refused(answer, "authentication_required")
            }
        },
        Rule("3.1", "the session check of a reconnect is 200 with a session and 401 with a nonce after its end") { f in
            let ana = try await f.user("ana")
            let path = "/?action=validateConnectionForWebsocket&client=4.0.6"
            f.succeeded(try await ana.call("GET", path), 200)
            try await ana.does("DELETE", "/sessions/\(ana.session)")
            f.refused(try await ana.call("GET", path), "authentication_required")
        },
        Rule("3.1", "unknown query parameters are ignored") { f in
            let ana = try await f.user("ana")
            f.succeeded(try await ana.call("GET", "/?colour=blue&x=%20"), 200)
            f.succeeded(try await ana.call("GET", "/conversations?colour=blue"), 200)
        },
    ]

    // MARK: 3.2

    private static let ping: [Rule] = [
        Rule("3.2", "HEAD /ping is 200 without a body, without session or version") { f in
            for headers in [[:], ["Accept": ""]] {
                let answer = try await f.client.call("HEAD", "/ping?client=3.4.6", headers: headers, deadline: Fixture.deadline)
                f.equal(answer.status, 200)
                f.check(answer.body.isEmpty, "a body")
            }
        }
    ]

    // MARK: 3.3

    private static let nonces: [Rule] = [
        Rule("3.3", "POST /nonces is 201 with a nonce") { f in
            let answer = try await f.client.call("POST", "/nonces", deadline: Fixture.deadline)
            f.succeeded(answer, 201)
            f.check(answer.json["nonce"].string?.isEmpty == false, "\(answer.json)")
        },
        Rule("3.3", "nonces are different, long, and safe in a URL") { f in
            var seen: Set<String> = []
            for _ in 0..<20 { seen.insert(try await f.client.nonce()) }
            f.equal(seen.count, 20)
            for nonce in seen {
                f.check(nonce.count >= 22, "\(nonce) is short")
                f.check(nonce.wholeMatch(of: /[A-Za-z0-9._~-]+/) != nil, "\(nonce) needs escaping")
            }
        },
        Rule("3.3", "a nonce can be used once") { f in
            let nonce = try await f.client.nonce()
            f.succeeded(try await signIn(f, nonce: nonce), 201)
            f.refused(try await signIn(f, nonce: nonce), "invalid_property", property: "identity_token")
        },
        Rule("3.3", "a nonce can be used once, on whichever gateway") { f in
            let nonce = try await f.client.nonce()
            f.succeeded(try await signIn(f, nonce: nonce, gateway: 1), 201)
            f.refused(try await signIn(f, nonce: nonce, gateway: 0), "invalid_property", property: "identity_token")
        },
        Rule("3.3", "a nonce can be used once, even by many at the same time") { f in
            let nonce = try await f.client.nonce()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<6 { group.addTask { try await signIn(f, nonce: nonce, gateway: number).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            f.equal(statuses.sorted(), [201, 422, 422, 422, 422, 422])
        },
    ]

    // MARK: 3.4

    /// Posts a session with an identity token that is right but for what is changed.
    private static func signIn(
        _ f: Fixture, user: String? = nil, nonce: String? = nil, app: TestedApp? = nil, appID: String? = nil, gateway: Int = 0,
        key: TokenMaker? = nil, header: [String: JSONValue] = [:], claims: [String: JSONValue] = [:]
    ) async throws -> RESTAnswer {
        let client = f.system.client(gateway, f.version)
        let app = app ?? f.app
        let fresh = if let nonce { nonce } else { try await client.nonce(deadline: Fixture.deadline) }
        var (head, body) = (app.header, app.claims(user ?? f.stranger("ana"), nonce: fresh, name: nil))
        for (name, value) in header { head[name] = value }
        for (name, value) in claims { body[name] = value }
        // A member set to the empty object is left out altogether.
        let without = { (value: JSONValue) in JSONValue.object((value.object ?? [:]).filter { $0.value != [:] }) }
        let token = try (key ?? app.tokens).token(header: without(head), claims: without(body))
        return try await post(f, appID ?? app.id, token, gateway: gateway)
    }

    private static func post(_ f: Fixture, _ appID: String, _ token: String, gateway: Int = 0) async throws -> RESTAnswer {
        let body: JSONValue = ["app_id": .string(appID), "identity_token": .string(token)]
        return try await f.system.client(gateway, f.version).call("POST", "/sessions", body: body, deadline: Fixture.deadline)
    }

    private static let absent: JSONValue = [:]

    private static let signingIn: [Rule] = [
        Rule("3.4", "POST /sessions is 201 with a session token and the links") { f in
            let answer = try await signIn(f)
            f.succeeded(answer, 201)
            f.check(answer.json["session_token"].string?.isEmpty == false, "\(answer.json)")
            let links = links(answer)
            for name in ["conversations", "content", "websocket"] { f.equal(links[name], expectedLinks(f)[name], name) }
        },
        Rule("3.4", "POST /sessions answers the full identity of the user", .doc) { f in
            let answer = try await signIn(f)
            let (token, identity) = (answer.json["session_token"].string ?? "", answer.json["identity"])
            let own = try await f.client.call("GET", Layer.path(identity["id"].string ?? ""), token: token)
            f.succeeded(own, 200)
            f.equal(identity, own.json)
        },
        Rule("3.4", "session tokens consist of letters, digits, dot, underscore and hyphen") { f in
            for _ in 0..<10 {
                let token = try await signIn(f).json["session_token"].string ?? ""
                f.check(token.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil, token)
            }
        },
        Rule("3.4", "each sign-in is a session of its own") { f in
            let (one, two) = (try await f.user("ana"), try await f.user("ana"))
            f.check(one.session != two.session, "the same token")
            try await one.does("DELETE", "/sessions/\(one.session)")
            f.succeeded(try await two.call("GET", "/"), 200)
        },
        Rule("3.4", "a session is good on every gateway") { f in
            let ana = try await f.user("ana")
            for gateway in 0..<f.system.urls.count {
                f.succeeded(try await f.system.client(gateway, f.version).call("GET", "/conversations", token: ana.session), 200)
            }
        },
        Rule("3.4", "a session without an identity token is 422 missing_property identity_token") { f in
            f.refused(
                try await f.client.call("POST", "/sessions", body: ["app_id": .string(f.app.id)]), "missing_property", property: "identity_token")
        },
        Rule("3.4", "a session without an app is 422 missing_property app_id") { f in
            f.refused(try await f.client.call("POST", "/sessions", body: ["identity_token": "x"]), "missing_property", property: "app_id")
        },
        Rule("3.4", "an unknown app is 403 invalid_app_id") { f in
            f.refused(try await signIn(f, appID: "layer:///apps/production/\(Layer.uuid())"), "invalid_app_id")
        },
        Rule("3.4", "an app id that is none is 403 invalid_app_id") { f in
            f.refused(try await signIn(f, appID: "nothing"), "invalid_app_id")
        },
        Rule("3.4", "a suspended app is 403 app_suspended, its sessions are good for nothing, and resuming it makes all good again", slow: true) {
            f in
            guard let strata = f.system.strata else { return f.skip("no operator's command") }
            let app = try await strata.createApp()
            let ana = try await f.user("ana", app: app)
            let socket = try await ana.socket()
            try await strata.run("app", "suspend", app.id)
            f.refused(try await signIn(f, app: app), "app_suspended")
            f.equal(try await socket.waitForClose(deadline: .now + .seconds(90)).code, 4401)
            f.refused(try await f.system.client(1, f.version).call("GET", "/conversations", token: ana.session), "authentication_required")
            try await strata.run("app", "resume", app.id)
            f.succeeded(try await signIn(f, app: app), 201)
            f.succeeded(try await f.system.client(1, f.version).call("GET", "/conversations", token: ana.session), 200)
        },
        Rule("3.4", "a suspended user is 403 user_suspended, others are not") { f in
            let ana = try await f.user("ana")
            let suspended = "UPDATE conversations.identity SET suspended = true WHERE user_id = '\(ana.userID)'"
            guard try await f.system.sql(suspended) else { return f.skip("no way to suspend a user") }
            f.refused(try await signIn(f, user: ana.userID), "user_suspended")
            f.refused(try await ana.call("GET", "/conversations"), "authentication_required")
            f.succeeded(try await signIn(f, user: f.stranger("ben")), 201)
        },
        Rule("3.4", "a token that strata token made signs in", .doc) { f in
            guard let strata = f.system.strata else { return f.skip("there is no operator's command") }
            let printed = try await strata.run("token", "--app", f.app.id, "--user", f.stranger("ana"), "--json")
            let token = try f.need(try JSONValue(parsing: printed)["identity_token"].string, "identity token")
            f.succeeded(try await post(f, f.app.id, token), 201)
        },
    ]

    /// A rule about an identity token that is not believed; all are refused in the same way.
    private static func unbelieved(_ what: String, _ attempt: @escaping @Sendable (Fixture) async throws -> RESTAnswer) -> Rule {
        Rule("3.4", "an identity token \(what) is 422 invalid_property identity_token") { f in
            f.refused(try await attempt(f), "invalid_property", property: "identity_token")
        }
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }

    private static let identityTokens: [Rule] = [
        unbelieved("that is no token") { f in try await post(f, f.app.id, "not.a.token") },
        Rule("3.4", "an identity token that is empty is 422 identity_token") { f in
            let answer = try await post(f, f.app.id, "")
            f.refused(answer, answer.errorID == "missing_property" ? "missing_property" : "invalid_property", property: "identity_token")
        },
        unbelieved("with two parts") { f in try await post(f, f.app.id, "eyJhbGciOiJSUzI1NiJ9.e30") },
        unbelieved("signed with another key") { f in try await signIn(f, key: f.system.strangeKey) },
        unbelieved("whose claims were changed after it was signed") { f in
            let nonce = try await f.client.nonce()
            let claims = f.app.claims(f.stranger("ana"), nonce: nonce, name: nil)
            var parts = try f.app.tokens.token(header: f.app.header, claims: claims).split(separator: ".").map(String.init)
            parts[1] = TokenMaker.base64URL(Data(f.app.claims(f.stranger("eve"), nonce: nonce, name: nil).text.utf8))
            return try await post(f, f.app.id, parts.joined(separator: "."))
        },
        unbelieved("with alg none") { f in try await signIn(f, header: ["alg": "none"]) },
        unbelieved("with alg HS256") { f in try await signIn(f, header: ["alg": "HS256"]) },
        unbelieved("with alg RS512") { f in try await signIn(f, header: ["alg": "RS512"]) },
        unbelieved("without alg") { f in try await signIn(f, header: ["alg": absent]) },
        unbelieved("with another cty") { f in try await signIn(f, header: ["cty": "layer-eit;v=2"]) },
        unbelieved("without cty") { f in try await signIn(f, header: ["cty": absent]) },
        unbelieved("of an unknown key") { f in try await signIn(f, header: ["kid": .string("layer:///keys/\(Layer.uuid())")]) },
        unbelieved("without kid") { f in try await signIn(f, header: ["kid": absent]) },
        unbelieved("of another provider") { f in try await signIn(f, claims: ["iss": .string("layer:///providers/\(Layer.uuid())")]) },
        unbelieved("without iss") { f in try await signIn(f, claims: ["iss": absent]) },
        unbelieved("without prn") { f in try await signIn(f, claims: ["prn": absent]) },
        unbelieved("with an empty prn") { f in try await signIn(f, claims: ["prn": ""]) },
        unbelieved("whose prn is no string") { f in try await signIn(f, claims: ["prn": 5]) },
        unbelieved("with a prn of more than 128 bytes") { f in try await signIn(f, claims: ["prn": .string(String(repeating: "x", count: 129))]) },
        unbelieved("that has expired") { f in try await signIn(f, claims: ["exp": .integer(now() - 120), "iat": .integer(now() - 600)]) },
        unbelieved("without exp") { f in try await signIn(f, claims: ["exp": absent]) },
        unbelieved("issued far in the future") { f in try await signIn(f, claims: ["iat": .integer(now() + 600), "exp": .integer(now() + 1200)]) },
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
        ("display_name", "Ana Silva"), ("avatar_url", "https://cdn.example/ana.png"), ("first_name", "Ana"), ("last_name", "Silva"),
        ("public_key", "key"), ("phone_number", "+351 1"), ("email_address", "ana@example.org"),
    ]

    private static let sideEffects: [Rule] = [
        Rule("3.4", "the first sign-in creates the identity with what the token says of it") { f in
            let user = f.stranger("ana")
            let answer = try await signIn(f, user: user, claims: Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) }))
            let session = try f.need(answer.json["session_token"].string, "session: \(answer.json)")
            let identity = try await f.client.call("GET", "/identities/\(user)", token: session).json
            for (name, value) in fields { f.equal(identity[name], value, name) }
        },
        Rule("3.4", "a later sign-in changes what its token says otherwise, and nothing it does not name", .doc) { f in
            let user = f.stranger("ana")
            f.succeeded(try await signIn(f, user: user, claims: ["display_name": "Ana", "first_name": "A"]), 201)
            let session = try await signIn(f, user: user, claims: ["display_name": "Ana Silva"]).json["session_token"].string
            let identity = try await f.client.call("GET", "/identities/\(user)", token: session).json
            f.equal(identity["display_name"], "Ana Silva")
            f.equal(identity["first_name"], "A")
        },
        Rule("3.4", "the change of an identity by signing in reaches the user's own sockets and those of their followers", .doc) { f in
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

    // MARK: 3.5

    private static let expiry: [Rule] =
        Endpoint.signedIn.map { endpoint in
            Rule("3.5", "\(endpoint.name) without a session is 401 with a nonce", endpoint.kind) { f in
                let none = try await f.client.call(endpoint.method, endpoint.path, body: endpoint.body, deadline: Fixture.deadline)
                f.refused(none, "authentication_required")
                let unknown = try await f.client.call(
                    endpoint.method, endpoint.path, body: endpoint.body, token: "unknown", deadline: Fixture.deadline)
                f.refused(unknown, "authentication_required")
            }
        } + [
            Rule("3.5", "a deleted session is 401 with a nonce, on every gateway") { f in
                let ana = try await f.user("ana")
                f.succeeded(try await ana.call("GET", "/conversations"), 200)
                try await ana.does("DELETE", "/sessions/\(ana.session)")
                f.refused(try await ana.call("GET", "/conversations"), "authentication_required")
                let elsewhere = f.system.client(1, f.version)
                f.refused(try await elsewhere.call("GET", "/conversations", token: ana.session), "authentication_required")
            },
            Rule("3.5", "a session that has expired is 401 with a nonce, and its sockets are closed with 4401", slow: true) { f in
                let ana = try await f.user("ana")
                let socket = try await ana.socket(gateway: 1)
                let expired = "UPDATE conversations.session SET expires_at = now() WHERE user_id = '\(ana.userID)'"
                guard try await f.system.sql(expired) else { return f.skip("no way to let a session expire") }
                // The first gateway has not seen the session yet; the second remembers it for some seconds.
                f.refused(try await ana.call("GET", "/conversations"), "authentication_required")
                f.equal(try await socket.waitForClose(deadline: .now + .seconds(90)).code, 4401)
            },
            Rule("3.5", "the nonce of a 401 is good for signing in") { f in
                let refusal = try await f.client.call("GET", "/conversations", deadline: Fixture.deadline)
                let nonce = try f.need(refusal.json["data"]["nonce"].string, "nonce")
                f.succeeded(try await signIn(f, nonce: nonce), 201)
            },
            Rule("3.5", "each 401 has another nonce") { f in
                var nonces: Set<String> = []
                for _ in 0..<5 { nonces.insert(try await f.client.call("GET", "/conversations").json["data"]["nonce"].string ?? "") }
                f.equal(nonces.count, 5)
            },
            Rule("3.5", "the end of a session is never an unsuccessful response over the socket: the socket is closed") { f in
                let ana = try await f.user("ana")
                let socket = try await ana.socket()
                try await ana.does("DELETE", "/sessions/\(ana.session)")
                try? await socket.sendPacket(["type": "request", "body": ["request_id": "x1", "method": "Counter.read"]])
                f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401)
                f.check(!socket.history.contains { $0.data["id"].string == "authentication_required" }, "answered")
            },
        ]

    // MARK: 3.6

    private static let signingOut: [Rule] = [
        Rule("3.6", "DELETE /sessions/:token is 204 and ends the session") { f in
            let ana = try await f.user("ana")
            f.succeeded(try await ana.call("DELETE", "/sessions/\(ana.session)"), 204)
            f.refused(try await ana.call("GET", "/"), "authentication_required")
        },
        Rule("3.6", "a session may be ended without an Authorization header") { f in
            let ana = try await f.user("ana")
            f.succeeded(try await f.client.call("DELETE", "/sessions/\(ana.session)"), 204)
            f.refused(try await ana.call("GET", "/"), "authentication_required")
        },
        Rule("3.6", "an unknown token is 204 as well", .doc) { f in
            f.succeeded(try await f.client.call("DELETE", "/sessions/unknown"), 204)
            let ana = try await f.user("ana")
            try await ana.does("DELETE", "/sessions/\(ana.session)")
            f.succeeded(try await ana.call("DELETE", "/sessions/\(ana.session)"), 204)
        },
        Rule("3.6", "no session can be ended with another session's Authorization", .doc) { f in
            let users = try await f.users("ana", "ben")
            let answer = try await users[1].call("DELETE", "/sessions/\(users[0].session)")
            f.check(!answer.isSuccess, "\(answer.status)")
            f.succeeded(try await users[0].call("GET", "/"), 200)
        },
        Rule("3.6", "the sockets of the session are closed, on every gateway, and no others") { f in
            let (ana, elsewhere) = (try await f.user("ana"), try await f.user("ana"))
            let ended = [try await ana.socket(gateway: 0), try await ana.socket(gateway: 1)]
            let other = try await elsewhere.socket()
            try await ana.does("DELETE", "/sessions/\(ana.session)")
            for socket in ended { f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401) }
            try await other.does("Counter.read")
        },
    ]

    // MARK: 3.7

    private static let pushTokens: [Rule] = [
        Rule("3.7", "POST /push_tokens is 202 without a body", .doc) { f in
            let ana = try await f.user("ana")
            for body: JSONValue in [
                ["token": "t1", "type": "apns", "device_id": "d1", "apns_bundle_id": "org.example", "ios_version": "9.0"],
                ["token": "t2", "type": "gcm", "device_id": "d2", "gcm_sender_id": "1"], ["token": "t3", "type": "apns", "device_id": "d3"],
            ] {
                let answer = try await ana.call("POST", "/push_tokens", body)
                f.succeeded(answer, 202)
                f.check(answer.body.isEmpty, "a body")
            }
        },
        Rule("3.7", "a device's token may be replaced, by another user too", .doc) { f in
            let users = try await f.users("ana", "ben")
            let device = JSONValue.string(f.mark)
            for (user, token) in [(users[0], "t1"), (users[0], "t2"), (users[1], "t2")] {
                f.succeeded(
                    try await user.call("POST", "/push_tokens", ["token": .string(token), "type": "apns", "device_id": device]), 202)
            }
        },
        Rule("3.7", "token, type and device_id are required", .doc) { f in
            let ana = try await f.user("ana")
            let body: JSONValue = ["token": "t", "type": "apns", "device_id": "d"]
            for name in ["token", "type", "device_id"] {
                let less = JSONValue.object((body.object ?? [:]).filter { $0.key != name })
                f.refused(try await ana.call("POST", "/push_tokens", less), "missing_property", property: name)
            }
        },
        Rule("3.7", "a type that is neither apns nor gcm is 422", .doc) { f in
            let ana = try await f.user("ana")
            let body: JSONValue = ["token": "t", "type": "pigeon", "device_id": "d"]
            f.refused(try await ana.call("POST", "/push_tokens", body), "invalid_property", property: "type")
        },
        Rule("3.7", "members of another type are 422", .doc) { f in
            let ana = try await f.user("ana")
            for name in ["token", "device_id", "apns_bundle_id", "gcm_sender_id", "ios_version"] {
                var body: JSONValue = ["token": "t", "type": "apns", "device_id": "d"]
                body[name] = 5
                f.refused(try await ana.call("POST", "/push_tokens", body), "invalid_property", property: name)
            }
        },
        Rule("3.7", "DELETE /push_tokens/:device_id is 202 without a body, for unknown devices too", .doc) { f in
            let ana = try await f.user("ana")
            let device = "device.\(f.mark)"
            try await ana.does("POST", "/push_tokens", ["token": "t", "type": "apns", "device_id": .string(device)])
            for _ in 0..<2 {
                let answer = try await ana.call("DELETE", "/push_tokens/\(device)")
                f.succeeded(answer, 202)
                f.check(answer.body.isEmpty, "a body")
            }
        },
    ]
}
