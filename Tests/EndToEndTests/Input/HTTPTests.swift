// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Edge cases of HTTP that no client library sends, byte by byte.
    @Suite("edge cases of HTTP")
    struct HTTPTests {
        /// A request that is refused before it reaches a route.
        struct Case: CustomTestStringConvertible, Sendable {
            let name: String
            let text: String
            let status: Int
            let errorID: String

            init(_ name: String, _ text: String, _ status: Int, _ errorID: String) {
                self.name = name
                self.text = text.replacingOccurrences(of: "\n", with: "\r\n")
                self.status = status
                self.errorID = errorID
            }

            var testDescription: String { name }
        }

        static let refused = [
            Case("no HTTP at all", "nonsense\n\n", 400, "invalid_request"),
            Case("a method that does not exist", "BREW / HTTP/1.1\nHost: x\n\n", 400, "invalid_request"),
            Case("a version that does not exist", "GET / HTTP/7.3\nHost: x\n\n", 400, "invalid_request"),
            Case(
                "a name of a field with a space in it", "GET / HTTP/1.1\nHost: x\nBad Name: y\n\n", 400,
                "invalid_request"),
            Case(
                "a length that is no number", "POST /nonces HTTP/1.1\nHost: x\nContent-Length: many\n\n", 400,
                "invalid_request"),
            Case("no Host", "GET / HTTP/1.1\n\n", 400, "invalid_request"),
            Case("two Hosts", "GET / HTTP/1.1\nHost: x\nHost: x\n\n", 400, "invalid_request"),
            Case(
                "a handshake without Host",
                "GET /websocket HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Protocol: layer-3.0\n\n",
                400, "invalid_request"),
            Case(
                "a long field", "GET / HTTP/1.1\nHost: x\nX-Long: \(String(repeating: "x", count: 20_000))\n\n", 431,
                "invalid_request"),
            Case(
                "many fields", "GET / HTTP/1.1\nHost: x\n\((0..<200).map { "X-\($0): y\n" }.joined())\n", 431,
                "invalid_request"),
            Case("CONNECT", "CONNECT example.org:443 HTTP/1.1\nHost: example.org\n\n", 405, "method_not_allowed"),
        ]

        private static let good = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

        private func connect() async throws -> RawConnection {
            let cluster = try await Cluster.shared()
            return try await RawConnection.open(port: try #require(URL(string: cluster.urls[0])?.port))
        }

        private func answer(
            _ connection: RawConnection, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> RawConnection.Answer {
            let outcome = await connection.answer(within: Waiting.limit)
            guard case .value(let answer) = outcome else {
                Issue.record("no answer but \(outcome)", sourceLocation: sourceLocation)
                throw CancellationError()
            }
            return answer
        }

        private func expectRefusal(_ answer: RawConnection.Answer, _ bad: Case) throws {
            #expect(answer.status == bad.status)
            #expect(answer.headers.contains("Content-Type: application/json"))
            #expect(answer.headers.contains { $0.lowercased() == "connection: close" })
            let error = try JSONValue(parsing: Data(answer.body))
            #expect(error["id"].string == bad.errorID)
            #expect(error["code"].int != nil && error["message"].string?.isEmpty == false)
        }

        @Test("a request refused before routing gets an error object, and the connection ends", arguments: refused)
        func first(_ bad: Case) async throws {
            let connection = try await connect()
            await connection.send(Array(bad.text.utf8))
            try expectRefusal(try await answer(connection), bad)
            try await eventually("the connection ends") { connection.isClosed }
        }

        @Test(
            "a later or pipelined request that is refused before routing gets an error object, and the connection ends",
            arguments: refused)
        func later(_ bad: Case) async throws {
            let connection = try await connect()
            await connection.send(Array(Self.good.utf8))
            #expect(try await answer(connection).status == 200)
            await connection.send(Array((Self.good + bad.text).utf8))
            #expect(try await answer(connection).status == 200)
            try expectRefusal(try await answer(connection), bad)
            try await eventually("the connection ends") { connection.isClosed }
        }

        @Test("a malformed body is refused with an error object")
        func brokenBody() async throws {
            let connection = try await connect()
            await connection.send(
                Array("POST /sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".utf8))
            try expectRefusal(try await answer(connection), Case("", "", 400, "invalid_request"))
            try await eventually("the connection ends") { connection.isClosed }
        }

        @Test("an interrupted body changes nothing")
        func cutBody() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben"))
            let conversation = try await ana.converse(with: [ben])
            try await ana.send("unread", to: conversation)
            let connection = try await connect()
            let head = """
                POST \(conversation.path)/mark_all_read HTTP/1.1
                Host: x
                Authorization: Layer session-token="\(ben.token)"
                Accept: application/vnd.layer+json; version=3.0
                Content-Type: application/json
                Content-Length: 14


                """
            await connection.send(Array(head.replacingOccurrences(of: "\n", with: "\r\n").utf8))
            await connection.halfClose()
            try await eventually("the connection ends") { connection.isClosed }
            #expect(try await ben.view(of: conversation)["unread_message_count"].int == 1)
        }

        @Test("a refused upgrade request ends the connection")
        func upgrade() async throws {
            let connection = try await connect()
            await connection.send(
                Array("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n".utf8))
            let answer = try await answer(connection)
            #expect(answer.status == 200 && answer.headers.contains { $0.lowercased() == "connection: close" })
            try await eventually("the connection ends") { connection.isClosed }
        }

        @Test(
            "unknown methods and paths get an error object, and the connection continues",
            arguments: ["PUT /", "PURGE /nowhere"])
        func unrouted(_ line: String) async throws {
            let connection = try await connect()
            for _ in 0..<2 {
                await connection.send(Array("\(line) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
                let refusal = try await answer(connection)
                #expect(refusal.status == 404)
                #expect(try JSONValue(parsing: Data(refusal.body))["id"].string == "invalid_endpoint")
            }
            await connection.close()
        }

        @Test("an HTTP/1.0 request is answered, and the connection ends unless the request asks to keep it")
        func old() async throws {
            let once = try await connect()
            await once.send(Array("GET / HTTP/1.0\r\n\r\n".utf8))
            let last = try await answer(once)
            #expect(last.status == 200 && last.headers.contains { $0.lowercased() == "connection: close" })
            try await eventually("the connection ends") { once.isClosed }

            let kept = try await connect()
            for _ in 0..<2 {
                await kept.send(Array("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".utf8))
                let reply = try await answer(kept)
                #expect(reply.status == 200 && reply.headers.contains { $0.lowercased() == "connection: keep-alive" })
                // HTTP/1.0 has no chunked encoding.
                #expect(!reply.headers.contains { $0.lowercased().hasPrefix("transfer-encoding") })
            }
            await kept.close()
        }

        @Test("a client can end the connection with its request, in any spelling of the header")
        func closing() async throws {
            let connection = try await connect()
            await connection.send(Array("GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n".utf8))
            #expect(try await answer(connection).headers.contains { $0.lowercased() == "connection: close" })
            try await eventually("the connection ends") { connection.isClosed }
        }

        @Test("a client that expects 100 Continue receives it when its body is wanted")
        func expectation() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let body = #"{"participants": ["layer:///identities/ben"], "distinct": false}"#
            let connection = try await connect()
            for _ in 0..<2 {
                await connection.send(Array(self.head(ana.token, length: body.utf8.count).utf8))
                #expect(await connection.begins(with: "HTTP/1.1 100 Continue\r\n\r\n", within: Waiting.limit))
                await connection.send(Array(body.utf8))
                #expect(try await answer(connection).status == 201)
            }
            await connection.close()
        }

        @Test(
            "an unwanted body is refused while its client still waits for 100 Continue",
            arguments: [(false, 10, 401), (true, 2 << 20, 413)])
        func unwanted(isSignedIn: Bool, length: Int, status: Int) async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let connection = try await connect()
            await connection.send(Array(self.head(isSignedIn ? ana.token : "none", length: length).utf8))
            #expect(await connection.begins(with: "HTTP/1.1 \(status) ", within: Waiting.limit))
            let refusal = try await answer(connection)
            #expect(refusal.status == status)
            // The server stops reading the body.
            #expect(refusal.headers.contains { $0.lowercased() == "connection: close" })
            try await eventually("the connection ends") { connection.isClosed }
        }

        private func head(_ token: String, length: Int) -> String {
            """
            POST /conversations HTTP/1.1\r
            Host: x\r
            Accept: application/vnd.layer+json; version=3.0\r
            Authorization: Layer session-token="\(token)"\r
            Content-Type: application/json\r
            Content-Length: \(length)\r
            Expect: 100-continue\r
            \r

            """
        }
    }
}
