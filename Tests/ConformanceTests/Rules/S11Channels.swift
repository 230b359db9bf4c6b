// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules of section 11: channels and memberships. Strata has none, and answers accordingly.
enum S11 {
    static let rules: [Rule] =
        [
            Rule("11", "GET /channels is 200 with an empty list and Layer-Count 0", .doc) { f in
                let ana = try await f.user("ana")
                let answer = try await ana.call("GET", "/channels?page_size=100")
                f.succeeded(answer, 200)
                f.equal(answer.json, [])
                f.equal(answer.header("Layer-Count"), "0")
            }
        ]
        + [
            ("POST", "/channels"), ("GET", "/channels/:uuid"), ("PATCH", "/channels/:uuid"),
            ("DELETE", "/channels/:uuid"),
            ("GET", "/channels/:uuid/messages"), ("POST", "/channels/:uuid/messages"),
            ("GET", "/channels/:uuid/members"),
            ("GET", "/channels/:uuid/members/:user_id"), ("PUT", "/channels/:uuid/members/:user_id"),
            ("DELETE", "/channels/:uuid/members/:user_id"),
        ]
        .map { method, pattern in
            Rule("11", "\(method) \(pattern) is 404 invalid_endpoint", .doc) { f in
                let ana = try await f.user("ana")
                let body: JSONValue? = ["POST", "PATCH", "PUT"].contains(method) ? [:] : nil
                f.refused(try await ana.call(method, Endpoint(method, pattern).path, body), "invalid_endpoint")
            }
        } + [
            Rule("11", "Channel.create is an unsuccessful response invalid_operation", .doc) { f in
                let ana = try await f.user("ana")
                let answer = try await ana.socket().ask("Channel.create", nil, ["name": "news", "members": []])
                f.refused(answer, "invalid_operation")
            },
            Rule("11", "typing in a channel is dropped", .doc) { f in
                let ana = try await f.user("ana")
                let socket = try await ana.socket()
                try await socket.typing("started", in: "layer:///channels/\(Layer.uuid())")
                f.check(try await socket.ask("Counter.read").isSuccess, "the socket does not answer any more")
            },
        ]
}
