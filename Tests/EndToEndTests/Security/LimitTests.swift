// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Limits of a single connection, over plain TCP. Whatever it does, other clients are served and the process
    /// survives.
    @Suite("limits of a connection")
    struct LimitTests {
        /// A gateway with short timeouts, and a user on it who must not be affected.
        struct Scene {
            let cluster: Cluster
            let user: TestUser
            let socket: ProtocolSocket
            let port: Int
            let watch: ProcessWatch

            func connect() async throws -> RawConnection { try await RawConnection.open(port: port) }

            /// Returns the number of connections cut for a reason.
            func cut(_ reason: String) async throws -> Int {
                let text = try await SecretTests.admin(cluster.instances(of: .gateway)[0], "/metrics")
                let line = text.split(separator: "\n")
                    .first { $0.hasPrefix("strata_gateway_connections_cut_total") && $0.contains("\"\(reason)\"") }
                return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }.map { Int($0) } ?? 0
            }
        }

        private func with(_ body: (Scene) async throws -> Void) async throws {
            let settings = ["STRATA_REQUEST_TIMEOUT": "500ms"]
            try await Cluster.with(Cluster.Size(settings: settings)) { cluster in
                let user = try await cluster.app().signIn("ana")
                let socket = try await user.open()
                let port = try #require(URL(string: cluster.urls[0])?.port)
                var watch = await ProcessWatch(cluster.processes)
                watch.take()
                try await body(Scene(cluster: cluster, user: user, socket: socket, port: port, watch: watch))
                watch.take()
                #expect(await watch.ended() == [])
                for (before, after) in zip(watch.samples[0], watch.samples[1]) {
                    #expect(after.memory - before.memory < 128 << 20)
                }
                #expect(try await socket.ask("Counter.read").isSuccess)
                #expect(socket.faults == [])
                #expect(try await user.call("GET", "/conversations").status == 200)
            }
        }

        private static let get = "GET / HTTP/1.1\r\nHost: x\r\n"
        private static func post(_ user: TestUser, _ headers: String) -> String {
            """
            POST /conversations HTTP/1.1\r
            Host: x\r
            Accept: \(user.version.accept)\r
            Authorization: Layer session-token="\(user.token)"\r
            Content-Type: application/json\r
            \(headers)\r
            \r

            """
        }

        private func send(_ text: String, on connection: RawConnection) async {
            await connection.send(Array(text.utf8))
        }

        /// Sends a few bytes at intervals until the connection ends.
        private func dribble(_ first: String, _ more: String, on connection: RawConnection) async throws {
            await send(first, on: connection)
            try await eventually("a connection that dribbles is kept") {
                await send(more, on: connection)
                return connection.isClosed
            }
        }

        // MARK: Slow clients

        @Test("a client that sends a request's head or body too slowly is disconnected")
        func slow() async throws {
            try await with { scene in
                let silent = try await scene.connect()
                try await dribble(Self.get, "X-More: 1\r\n", on: try await scene.connect())
                try await dribble(
                    "GET /?session_token=x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n", "X-More: 1\r\n",
                    on: try await scene.connect())
                // The first bytes of TLS, one by one. Here they are not HTTP; with TLS the same timeout applies.
                try await eventually("a silent connection is kept") { silent.isClosed }
                #expect(try await scene.cut("no_request") >= 3)
                let body = try await scene.connect()
                await send(Self.post(scene.user, "Content-Length: 100000"), on: body)
                guard case .value(let answer) = await body.answer(within: Waiting.limit) else {
                    Issue.record("a request whose body does not come is not answered")
                    return
                }
                #expect(answer.status == 408)
                try await dribble(
                    Self.post(scene.user, "Transfer-Encoding: chunked"), "1\r\n \r\n", on: try await scene.connect())
                #expect(try await scene.cut("slow_request") >= 2)
            }
        }

        @Test("a slow body with steady progress is accepted")
        func slowEnough() async throws {
            try await with { scene in
                let connection = try await scene.connect()
                let body =
                    #"{"participants": [], "distinct": false, "metadata": {}"# + String(repeating: " ", count: 4000)
                    + "}"
                await send(Self.post(scene.user, "Content-Length: \(body.utf8.count)"), on: connection)
                // More than 500 bytes for each half second that the server initially grants.
                let (first, rest) = (body.prefix(3000), body.dropFirst(3000))
                await send(String(first), on: connection)
                try await Task.sleep(for: .seconds(1))
                await send(String(rest), on: connection)
                guard case .value(let answer) = await connection.answer(within: Waiting.limit) else {
                    Issue.record("it is not answered")
                    return
                }
                #expect(answer.status == 201)
                await connection.close()
            }
        }

        // MARK: Oversized requests

        @Test("heads that are too long, or have too many fields, are refused")
        func heads() async throws {
            try await with { scene in
                let long = String(repeating: "x", count: 20_000)
                let heads = [
                    Self.get + "X-Long: \(long)\r\n", Self.get + (0..<200).map { "X-\($0): 1\r\n" }.joined(),
                    Self.get + (0..<20).map { "X-\($0): \(long.prefix(5000))\r\n" }.joined(),
                    "GET /\(long)\(long) HTTP/1.1\r\nHost: x\r\n",
                    Self.get + "X-Endless: " + String(repeating: "y", count: 3 << 20),
                ]
                for head in heads {
                    let connection = try await scene.connect()
                    await send(head + "\r\n", on: connection)
                    guard case .value(let answer) = await connection.answer(within: Waiting.limit) else {
                        Issue.record("not answered: \(head.prefix(60))")
                        continue
                    }
                    #expect(answer.status == 431 || answer.status == 400, "\(head.prefix(60))")
                    try await eventually("it is kept") { connection.isClosed }
                }
                #expect(try await scene.cut("malformed_request") >= heads.count - 1)
            }
        }

        @Test("a body over the limit is refused with 413 before it is read, a compressed one with 415")
        func bodies() async throws {
            try await with { scene in
                let cases = [
                    ("Content-Length: 9000000000", "", 413), ("Content-Length: 99999999999999999999999", "", 400),
                    ("Content-Length: -1", "", 400),
                    (
                        "Transfer-Encoding: chunked", "200000\r\n" + String(repeating: " ", count: 0x200000) + "\r\n",
                        413
                    ),
                    ("Content-Encoding: gzip\r\nContent-Length: 2", "ab", 415),
                    ("Content-Encoding: identity, br\r\nContent-Length: 2", "ab", 415),
                    ("Content-Encoding: identity\r\nContent-Length: 2", "{}", 422),
                ]
                for (headers, body, status) in cases {
                    let connection = try await scene.connect()
                    await send(Self.post(scene.user, headers) + body, on: connection)
                    guard case .value(let answer) = await connection.answer(within: Waiting.limit) else {
                        Issue.record("not answered: \(headers)")
                        continue
                    }
                    #expect(answer.status == status, "\(headers)")
                    if status == 413 || status == 415 {
                        #expect(try JSONValue(parsing: answer.body)["id"].string == "invalid_request", "\(headers)")
                    }
                    await connection.close()
                }
            }
        }

        @Test("deep, huge or unusual JSON does no harm, over REST and over sockets")
        func json() async throws {
            try await with { scene in
                let deep = String(repeating: "[", count: 300_000)
                let open = String(repeating: #"{"a":"#, count: 100_000)
                let digits = String(repeating: "9", count: 500_000)
                let same = Array(repeating: #""participants":[]"#, count: 20_000).joined(separator: ",")
                let cases: [(String, Int)] = [
                    (deep, 400), (deep + String(repeating: "]", count: 300_000), 400), (open, 400),
                    (#"{"participants":\#(digits)}"#, 400),
                    (#"{"participants":[],"position":1e999999}"#, 400),
                    (#"{"participants":[],"distinct":false,"x":-0.0e-999}"#, 201),
                    (#"{"participants":"\#(digits)"}"#, 422), ("{\(same),\"distinct\":false}", 201),
                    (#"{"participants":[],"participants":7}"#, 422), (#"{"\u0000":1}"#, 400),
                    (#"{"participants":["\ud800"]}"#, 400),
                ]
                for (body, status) in cases {
                    let answer = try await scene.user.client.call(
                        "POST", "/conversations", data: Data(body.utf8), token: scene.user.token,
                        deadline: Waiting.deadline)
                    #expect(answer.status == status, "\(body.prefix(40)): \(answer.json.text.prefix(200))")
                }
                for bomb in [deep, open, digits, #"{"type":"request","body":\#(deep)}"#] {
                    let socket = try await scene.user.open()
                    try? await socket.sendText(bomb)
                    #expect(
                        try await socket.waitForClose(deadline: Waiting.deadline).code == 1003, "\(bomb.prefix(30))")
                }
            }
        }
    }
}
