// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 3: root, ping, authentication, push tokens.
enum S03 {
    static let rules: [Rule] =
        root + ping + nonces + signingIn + identityTokens + sideEffects + expiry + signingOut + pushTokens

    // MARK: 3.1

    /// Parses a `Link` header as stock clients do: split at `,`, then at `;`, which must give two parts.
    static func links(_ answer: RESTResponse) -> [String: String] {
        var links: [String: String] = [:]
        for link in (answer.header("Link") ?? "").split(separator: ",") {
            let pieces = link.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard pieces.count == 2, pieces[0].hasPrefix("<"), pieces[0].hasSuffix(">"), pieces[1].hasPrefix("rel=")
            else { continue }
            links[pieces[1].dropFirst(4).trimmingCharacters(in: CharacterSet(charactersIn: "\""))] = String(
                pieces[0].dropFirst().dropLast())
        }
        return links
    }

    static func expectedLinks(_ f: Fixture) -> [String: String] {
        let base = f.system.publicURL
        return [
            "nonces": base + "/nonces", "sessions": base + "/sessions", "conversations": base + "/conversations",
            "content": base + "/content",
            "websocket": "wss://" + base.dropFirst("https://".count),
        ]
    }

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

    /// Posts a session with a valid identity token, except for the given changes.
    static func signIn(
        _ f: Fixture, user: String? = nil, nonce: String? = nil, app: TestedApp? = nil, appID: String? = nil,
        gateway: Int = 0,
        key: TokenMaker? = nil, header: [String: JSONValue] = [:], claims: [String: JSONValue] = [:]
    ) async throws -> RESTResponse {
        let client = f.system.client(gateway, f.version)
        let app = app ?? f.app
        let fresh = if let nonce { nonce } else { try await client.nonce(deadline: Fixture.deadline) }
        var (head, body) = (app.header, app.claims(user ?? f.stranger("ana"), nonce: fresh, name: nil))
        for (name, value) in header { head[name] = value }
        for (name, value) in claims { body[name] = value }
        // A member that is set to an empty object is omitted.
        let without = { (value: JSONValue) in JSONValue.object((value.object ?? [:]).filter { $0.value != [:] }) }
        let token = try (key ?? app.tokens).token(header: without(head), claims: without(body))
        return try await post(f, appID ?? app.id, token, gateway: gateway)
    }

    static func post(_ f: Fixture, _ appID: String, _ token: String, gateway: Int = 0) async throws -> RESTResponse {
        let body: JSONValue = ["app_id": .string(appID), "identity_token": .string(token)]
        return try await f.system.client(gateway, f.version)
            .call("POST", "/sessions", body: body, deadline: Fixture.deadline)
    }

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
                f.succeeded(
                    try await f.system.client(gateway, f.version).call("GET", "/conversations", token: ana.session), 200
                )
            }
        },
        Rule("3.4", "a session without an identity token is 422 missing_property identity_token") { f in
            f.refused(
                try await f.client.call("POST", "/sessions", body: ["app_id": .string(f.app.id)]), "missing_property",
                property: "identity_token")
        },
        Rule("3.4", "a session without an app is 422 missing_property app_id") { f in
            f.refused(
                try await f.client.call("POST", "/sessions", body: ["identity_token": "x"]), "missing_property",
                property: "app_id")
        },
        Rule("3.4", "an unknown app is 403 invalid_app_id") { f in
            f.refused(try await signIn(f, appID: "layer:///apps/production/\(Layer.uuid())"), "invalid_app_id")
        },
        Rule("3.4", "an app id that is none is 403 invalid_app_id") { f in
            f.refused(try await signIn(f, appID: "nothing"), "invalid_app_id")
        },
        Rule(
            "3.4",
            "a suspended app is 403 app_suspended, its sessions are good for nothing, and resuming it makes all good again",
            slow: true
        ) {
            f in
            guard let strata = f.system.strata else { return f.skip("no operator's command") }
            let app = try await strata.createApp()
            let ana = try await f.user("ana", app: app)
            let socket = try await ana.socket()
            try await strata.run("app", "suspend", app.id)
            f.refused(try await signIn(f, app: app), "app_suspended")
            f.equal(try await socket.waitForClose(deadline: .now + .seconds(90)).code, 4401)
            f.refused(
                try await f.system.client(1, f.version).call("GET", "/conversations", token: ana.session),
                "authentication_required")
            try await strata.run("app", "resume", app.id)
            f.succeeded(try await signIn(f, app: app), 201)
            f.succeeded(try await f.system.client(1, f.version).call("GET", "/conversations", token: ana.session), 200)
        },
        Rule("3.4", "a suspended user is 403 user_suspended, by a token and by a session, others are not") { f in
            let ana = try await f.user("ana")
            let suspended = "UPDATE conversations.identity SET suspended = true WHERE user_id = '\(ana.userID)'"
            guard try await f.system.sql(suspended) else { return f.skip("no way to suspend a user") }
            f.refused(try await signIn(f, user: ana.userID), "user_suspended")
            f.refused(try await ana.call("GET", "/conversations"), "user_suspended")
            f.succeeded(try await signIn(f, user: f.stranger("ben")), 201)
        },
        Rule("3.4", "a token that strata token made signs in", .doc) { f in
            guard let strata = f.system.strata else { return f.skip("there is no operator's command") }
            let printed = try await strata.run("token", "--app", f.app.id, "--user", f.stranger("ana"), "--json")
            let token = try f.need(try JSONValue(parsing: printed)["identity_token"].string, "identity token")
            f.succeeded(try await post(f, f.app.id, token), 201)
        },
    ]

    // MARK: 3.5

    private static let expiry: [Rule] =
        Endpoint.signedIn.map { endpoint in
            Rule("3.5", "\(endpoint.name) without a session is 401 with a nonce", endpoint.kind) { f in
                let none = try await f.client.call(
                    endpoint.method, endpoint.path, body: endpoint.body, deadline: Fixture.deadline)
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
                f.refused(
                    try await elsewhere.call("GET", "/conversations", token: ana.session), "authentication_required")
            },
            Rule(
                "3.5", "a session that has expired is 401 with a nonce, and its sockets are closed with 4401",
                slow: true
            ) { f in
                let ana = try await f.user("ana")
                let socket = try await ana.socket(gateway: 1)
                let expired = "UPDATE conversations.session SET expires_at = now() WHERE user_id = '\(ana.userID)'"
                guard try await f.system.sql(expired) else { return f.skip("no way to let a session expire") }
                // The first gateway has not seen the session yet. The second one caches it for some seconds.
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
                for _ in 0..<5 {
                    nonces.insert(try await f.client.call("GET", "/conversations").json["data"]["nonce"].string ?? "")
                }
                f.equal(nonces.count, 5)
            },
            Rule("3.5", "the end of a session is never an unsuccessful response over the socket: the socket is closed")
            { f in
                let ana = try await f.user("ana")
                let socket = try await ana.socket()
                try await ana.does("DELETE", "/sessions/\(ana.session)")
                try? await socket.sendPacket([
                    "type": "request", "body": ["request_id": "x1", "method": "Counter.read"],
                ])
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
}
