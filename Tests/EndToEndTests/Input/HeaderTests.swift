// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("headers")
    struct HeaderTests {
        @Test("browsers of another origin receive CORS headers, on errors too")
        func cors() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let origin = ["Origin": "https://app.example.org"]
            let answers = [
                try await ana.call("GET", "/conversations", headers: origin),
                try await ana.call("GET", "/nothing/here", headers: origin),
                try await ana.client.call("GET", "/conversations", headers: origin),
            ]
            for (answer, status) in zip(answers, [200, 404, 401]) {
                #expect(answer.status == status)
                #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example.org")
                #expect(answer.header("Access-Control-Allow-Credentials") == "true")
                #expect(answer.header("Vary") == "Origin")
                #expect(answer.header("Access-Control-Expose-Headers")?.contains("Layer-Count") == true)
            }
            let preflight = try await ana.client.call(
                "OPTIONS", "/conversations/x",
                headers: origin.merging(["Accept": "", "Access-Control-Request-Method": "PATCH"]) { $1 })
            #expect(preflight.isSuccess)
            #expect(preflight.header("Access-Control-Allow-Origin") == "https://app.example.org")
            #expect(preflight.header("Access-Control-Allow-Methods")?.contains("PATCH") == true)
            let allowed = preflight.header("Access-Control-Allow-Headers")?.lowercased() ?? ""
            for name in [
                "authorization", "content-type", "accept", "client-id", "layer-xdk-version", "x-http-method-override",
                "if-none-match",
            ] {
                #expect(allowed.contains(name))
            }
        }

        @Test(
            "a missing, malformed or unknown version is answered with 406",
            arguments: ["", "application/json", "application/vnd.layer+json; version=1.0"])
        func accept(_ value: String) async throws {
            let ana = try await Cluster.shared().app().signIn("ana")
            let answer = try await ana.call("GET", "/conversations", headers: ["Accept": value])
            #expect(answer.status == 406)
            #expect(answer.errorID == "invalid_header")
            #expect(answer.json["data"]["header"].string == "Accept")
        }

        @Test("a patch requires its content type, and may use POST")
        func patchType() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let conversation = try await users[0].converse(with: [users[1]])
            let plain = try await users[0]
                .call(
                    "PATCH", conversation.path, [set("metadata.a", "1")], headers: ["Content-Type": "application/json"])
            #expect(plain.status == 406)
            #expect(plain.json["data"]["header"].string == "Content-Type")
            let override = try await users[0]
                .call(
                    "POST", conversation.path, [set("metadata.a", "1")],
                    headers: ["Content-Type": "application/vnd.layer-patch+json", "X-HTTP-Method-Override": "PATCH"])
            #expect(override.status == 204)
            #expect(try await users[1].view(of: conversation)["metadata"] == ["a": "1"])
        }

        @Test("discovery and the probe require no headers")
        func open() async throws {
            let client = try await Cluster.shared().client()
            let root = try await client.call("GET", "/", headers: ["Accept": ""])
            #expect(root.status == 200)
            #expect(root.header("Link")?.contains("<https://chat.test/nonces>; rel=nonces") == true)
            let ping = try await client.call("HEAD", "/ping?client=test", headers: ["Accept": ""])
            #expect(ping.status == 200)
        }

        @Test("an empty body with a JSON content type is no error")
        func emptyBody() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let conversation = try await users[0].converse(with: [users[1]])
            let json = ["Content-Type": "application/json"]
            #expect(try await users[0].call("GET", conversation.path, headers: json).status == 200)
            #expect(try await users[0].call("POST", conversation.path + "/mark_all_read", headers: json).status == 204)
            #expect(
                try await users[0].call("DELETE", conversation.path + "?mode=my_devices", headers: json).status == 204)
        }
    }
}
