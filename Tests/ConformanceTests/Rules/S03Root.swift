// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 3.1, 3.2 and 3.7: root, ping, push tokens.
extension S03 {
    // MARK: 3.1

    static let root: [Rule] = [
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
                let answer = try await f.client.call(
                    "GET", "/", headers: ["Authorization": header], deadline: Fixture.deadline)
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

    static let ping: [Rule] = [
        Rule("3.2", "HEAD /ping is 200 without a body, without session or version") { f in
            for headers in [[:], ["Accept": ""]] {
                let answer = try await f.client.call(
                    "HEAD", "/ping?client=3.4.6", headers: headers, deadline: Fixture.deadline)
                f.equal(answer.status, 200)
                f.check(answer.body.isEmpty, "a body")
            }
        }
    ]

    // MARK: 3.7

    static let pushTokens: [Rule] = [
        Rule("3.7", "POST /push_tokens is 202 without a body", .doc) { f in
            let ana = try await f.user("ana")
            for body: JSONValue in [
                [
                    "token": "t1", "type": "apns", "device_id": "d1", "apns_bundle_id": "org.example",
                    "ios_version": "9.0",
                ],
                ["token": "t2", "type": "gcm", "device_id": "d2", "gcm_sender_id": "1"],
                ["token": "t3", "type": "apns", "device_id": "d3"],
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
                    try await user.call(
                        "POST", "/push_tokens", ["token": .string(token), "type": "apns", "device_id": device]), 202)
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
