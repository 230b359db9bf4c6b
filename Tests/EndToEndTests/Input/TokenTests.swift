// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("identity tokens")
    struct TokenTests {
        private func signIn(_ app: TestApp, _ token: String) async throws -> RESTResponse {
            try await app.system.client()
                .call(
                    "POST", "/sessions", body: ["app_id": .string(app.id), "identity_token": .string(token)],
                    deadline: Waiting.deadline)
        }

        private func isRefused(_ answer: RESTResponse, _ what: Comment) {
            #expect(answer.status == 422, what)
            #expect(answer.errorID == "invalid_property", what)
            #expect(answer.json["data"]["property"].string == "identity_token", what)
        }

        @Test("a token that is reused, malformed, of another app or signed by another key is refused")
        func refusals() async throws {
            let cluster = try await Cluster.shared()
            let (app, other) = (try await cluster.app(), try await cluster.app())
            let client = cluster.client()
            let good = try await app.identityToken("ana", nonce: try await client.nonce())
            #expect(try await signIn(app, good).status == 201)
            isRefused(try await signIn(app, good), "used twice")
            let strangeKey = try await TestApp.strangeKey.value.privateKey
            isRefused(
                try await signIn(
                    app, try await app.identityToken("ana", nonce: try await client.nonce(), signedWith: strangeKey)),
                "another key")
            isRefused(
                try await signIn(other, try await app.identityToken("ana", nonce: try await client.nonce())),
                "another app")
            isRefused(try await signIn(app, try await app.identityToken("ana", nonce: "invented")), "an invented nonce")
            isRefused(try await signIn(app, "not.a.token"), "no token")
            var parts = try await app.identityToken("ana", nonce: try await client.nonce()).split(separator: ".")
                .map(String.init)
            parts[1] = String(parts[1].dropLast(2)) + "AA"
            isRefused(try await signIn(app, parts.joined(separator: ".")), "changed claims")
        }

        @Test("a token with a wrong signature does not use up its nonce")
        func nonceKept() async throws {
            let app = try await Cluster.shared().app()
            let nonce = try await app.system.client().nonce()
            let strangeKey = try await TestApp.strangeKey.value.privateKey
            isRefused(
                try await signIn(app, try await app.identityToken("ana", nonce: nonce, signedWith: strangeKey)),
                "another key")
            #expect(try await signIn(app, try await app.identityToken("ana", nonce: nonce)).status == 201)
        }

        @Test("an error names missing properties, and an unknown app is answered with 403")
        func missing() async throws {
            let app = try await Cluster.shared().app()
            let client = app.system.client()
            let noToken = try await client.call("POST", "/sessions", body: ["app_id": .string(app.id)])
            #expect(noToken.errorID == "missing_property")
            #expect(noToken.json["data"]["property"].string == "identity_token")
            let token = try await app.identityToken("ana", nonce: try await client.nonce())
            let unknown = try await client.call(
                "POST", "/sessions",
                body: [
                    "app_id": .string("layer:///apps/production/\(UUID().uuidString.lowercased())"),
                    "identity_token": .string(token),
                ])
            #expect(unknown.status == 403)
            #expect(unknown.errorID == "invalid_app_id")
        }

        @Test("no log contains a message's text or a token")
        func logs() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let ana = try await app.signIn("ana")
            let identityToken = try await app.identityToken("ana", nonce: try await cluster.client().nonce())
            _ = try await signIn(app, identityToken + "x")
            let socket = try await ana.open()
            let conversation = try await ana.converse(with: [], metadata: ["note": .string(BadInputTests.secret)])
            _ = try await socket.ask("Message.create", conversation.id, TestUser.message(BadInputTests.secret))
            _ = try await socket.ask("Message.create", Conversation.newID(), TestUser.message(BadInputTests.secret))
            try? await socket.sendText(BadInputTests.secret)
            _ = try await socket.waitForClose(deadline: Waiting.deadline)
            for process in cluster.processes {
                let log = await process.output
                for secret in [BadInputTests.secret, ana.token, identityToken] {
                    #expect(!log.contains(secret), "\(process.name)")
                }
            }
        }
    }
}
