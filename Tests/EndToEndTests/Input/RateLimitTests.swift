// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("rate limits")
    struct RateLimitTests {
        /// Rates so low that no token is added while the test runs.
        private static let size = Cluster.Size(
            settings: [
                "STRATA_RATE_LIMIT_SESSION": "0.01/5", "STRATA_RATE_LIMIT_ADDRESS": "0.01/20",
                "STRATA_RATE_LIMIT_SERVER": "0.01/50",
                "STRATA_TRUSTED_PROXIES": "1",
            ])

        @Test("a client that exceeds its rate receives a Retry-After, and other clients are unaffected")
        func limits() async throws {
            try await Cluster.with(Self.size) { cluster in
                let app = try await cluster.app()
                let users = [try await app.signIn("ana"), try await app.signIn("ben"), try await app.signIn("cleo")]
                try await requests(users)
                try await addresses(cluster.client())
                try await sockets(users[2])
                try await servers(AppServer(app), other: AppServer(try await cluster.app()))
            }
        }

        /// Expects requests with a valid server token to count against the token, not against the address.
        private func servers(_ server: AppServer, other: AppServer) async throws {
            func ask(_ server: AppServer, from address: String) async throws -> RESTResponse {
                try await server.call("GET", "/users/ana/conversations", headers: ["X-Forwarded-For": address])
            }
            #expect(try await ask(server, from: "10.0.0.2").status == 429)
            try await eventually("the token is known for long enough to ask once more") {
                #expect(try await ask(server, from: "10.0.0.5").status == 200)
                return try await ask(server, from: "10.0.0.2").status == 200
            }
            var answer: RESTResponse
            repeat { answer = try await ask(server, from: "10.0.0.5") } while answer.isSuccess
            // The limit applies to every spelling of the path.
            let headers = ["X-Forwarded-For": "10.0.0.5"]
            #expect(
                try await server.call("GET", "//users/ana/conversations", app: "/" + server.appID, headers: headers)
                    .status == 429)
            #expect("\(answer.status) \(answer.errorID ?? "")" == "429 rate_limit_exceeded")
            #expect(answer.header("Retry-After") != nil)
            // Another app's server has its own limit. Its app has no such user.
            #expect(try await ask(other, from: "10.0.0.5").status == 404)
        }

        private func requests(_ users: [TestUser]) async throws {
            let headers = ["X-Forwarded-For": "10.0.0.1", "Origin": "https://app.example.org"]
            for _ in 0..<5 { #expect(try await users[0].call("GET", "/conversations", headers: headers).status == 200) }
            let refused = try await users[0].call("GET", "/conversations", headers: headers)
            #expect(refused.status == 429)
            #expect(refused.errorID == "rate_limit_exceeded")
            #expect(refused.json["code"].int == 7)
            #expect(refused.header("Content-Type") == "application/json")
            #expect(refused.header("Access-Control-Allow-Origin") == "https://app.example.org")
            #expect((1...100).contains(try #require(refused.header("Retry-After").flatMap { Int($0) })))
            #expect(try await users[1].call("GET", "/conversations", headers: headers).status == 200)
            for method in ["GET", "HEAD"] {
                #expect(try await users[0].call(method, "/ping", headers: headers).status == 200)
            }
        }

        private func addresses(_ client: ProtocolClient) async throws {
            func nonce(_ forwarded: String) async throws -> RESTResponse {
                try await client.call(
                    "POST", "/nonces", headers: ["X-Forwarded-For": forwarded], deadline: Waiting.deadline)
            }
            for number in 0..<20 { #expect(try await nonce("10.9.9.\(number), 10.0.0.2").status == 201) }
            let refused = try await nonce("10.0.0.3, 10.0.0.2")
            #expect(refused.status == 429)
            #expect(refused.header("Retry-After") != nil)
            #expect(try await nonce("10.0.0.2, 10.0.0.3").status == 201)
            for _ in 0..<30 {
                #expect(
                    try await client
                        .call("HEAD", "/ping", headers: ["X-Forwarded-For": "10.0.0.2"], deadline: Waiting.deadline)
                        .status == 200)
            }
        }

        private func sockets(_ user: TestUser) async throws {
            var options = ProtocolSocket.Options()
            options.headers = ["X-Forwarded-For": "10.0.0.2"]
            let refusal = await #expect(throws: ProtocolClientError.self) {
                _ = try await user.client.openSocket(
                    sessionToken: user.token, options: options, deadline: Waiting.deadline)
            }
            #expect(refusal?.answer?.status == 429)
            options.headers = ["X-Forwarded-For": "10.0.0.4"]
            let socket = try await user.client.openSocket(
                sessionToken: user.token, options: options, deadline: Waiting.deadline)
            for _ in 0..<5 { #expect(try await socket.ask("Counter.read").isSuccess) }
            for _ in 0..<5 { #expect(try await socket.ask("Counter.read").errorID == "rate_limit_exceeded") }
            #expect(socket.closure == nil)
            try await socket.ping()
            #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 1008)
        }
    }
}
