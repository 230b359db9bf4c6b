// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Bounds on incoming data. Each test fills its system and therefore has its own.
    @Suite("limits of input", .timeLimit(.minutes(5)))
    struct InputLimitTests {
        private static let bound = 32 << 20
        /// Memory in bytes of threads and buffers that the budget does not count.
        private static let slack = 64 << 20

        private static func resident(_ gateway: ServiceProcess) async throws -> Int {
            ProcessWatch.sample(try #require(await gateway.pid)).memory
        }

        private static func open(_ user: TestUser, port: Int) async throws -> RawConnection {
            let connection = try await RawConnection.open(port: port)
            let head =
                "GET /?session_token=\(user.token) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: layer-3.0\r\n\r\n"
            await connection.send(Array(head.utf8))
            guard case .value(let answer) = await connection.answer(within: Waiting.limit), answer.status == 101 else {
                throw Problem("the socket was not opened")
            }
            return connection
        }

        /// Returns the code of the close frame, or the error of the first unsuccessful response.
        private static func refusal(_ connection: RawConnection) async -> String? {
            while case .value(let frame) = await connection.frame(within: Waiting.limit) {
                if frame.opcode == 8 { return "\(frame.payload.prefix(2).reduce(0) { $0 << 8 | Int($1) })" }
                guard let packet = try? JSONValue(parsing: frame.payload), packet["type"].string == "response" else {
                    continue
                }
                if packet["body"]["success"].bool == false { return packet["body"]["data"]["id"].string }
            }
            return nil
        }

        @Test(
            "sixty sockets with partial fragments stay within the memory limit, excess sockets are closed, and another socket is served"
        )
        func fragments() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_REQUEST_BYTES": "\(Self.bound)"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[1].converse(with: [users[0]])
                let honest = try await users[1].open()
                let gateway = cluster.instances(of: .gateway)[0]
                let before = try await Self.resident(gateway)
                let fragment = SocketFuzzer.encode(1, Array(repeating: 0x20, count: 900_000), isFinal: false)
                var sockets: [RawConnection] = []
                for _ in 0..<60 {
                    let socket = try await Self.open(users[0], port: cluster.port)
                    await socket.send(fragment)
                    sockets.append(socket)
                    if sockets.count % 10 == 0 {
                        #expect(try await gateway.metric("strata_gateway_input_bytes") <= Double(Self.bound))
                        #expect(
                            try await honest.ask(
                                "Message.create", conversation.id, TestUser.message("\(sockets.count)")
                            )
                            .isSuccess)
                    }
                }
                // Each socket holds 1 MB. One address may use a quarter of the bound for large input.
                let taken = (Self.bound / 4) >> 20
                try await eventually("those beyond the bound are refused") {
                    try await gateway.metric("strata_gateway_refused_requests_total", #"by="input_bytes""#)
                        >= Double(60 - taken)
                }
                #expect(await Self.refusal(sockets[59]) == "1013")
                #expect(try await Self.resident(gateway) < before + Self.bound + Self.slack)
                for socket in sockets { await socket.close() }
                try await eventually("nothing is held any more") {
                    try await gateway.metric("strata_gateway_input_bytes") == 0
                }
                #expect(honest.faults == [])
            }
        }

        @Test("thirty sockets with three dense frames each stay within the memory limit, and another socket is served")
        func crowdedFrames() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_REQUEST_BYTES": "\(Self.bound)"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[1].converse(with: [users[0]])
                let honest = try await users[1].open()
                let gateway = cluster.instances(of: .gateway)[0]
                let before = try await Self.resident(gateway)
                func frame(_ count: Int) -> [UInt8] {
                    let crowd = Array(repeating: #"{"":0}"#, count: count).joined(separator: ",")
                    let request = """
                        {"type":"request","body":{"request_id":"r","method":"Conversation.create",\
                        "data":{"participants":["\(users[1].identity)"],"distinct":false,"crowd":[\(crowd)]}}}
                        """
                    return SocketFuzzer.encode(1, Array(request.utf8))
                }
                var sockets: [RawConnection] = []
                for _ in 0..<30 { sockets.append(try await Self.open(users[0], port: cluster.port)) }
                await cluster.postgres.suspend()
                // Each frame takes 3.5 MB when parsed, so two of one address fit.
                let crowded = frame(12_000)
                for socket in sockets {
                    for _ in 0..<3 { await socket.send(crowded) }
                }
                let waiting = Task {
                    try await honest.ask("Message.create", conversation.id, TestUser.message("short"))
                }
                try await eventually("some are refused") {
                    try await gateway.metric("strata_gateway_refused_requests_total", #"by="input_bytes""#) >= 20
                }
                let held = try await gateway.metric("strata_gateway_input_bytes")
                #expect(held > 1_048_576 && held <= Double(Self.bound / 4 + Self.bound / 16))
                #expect(try await honest.ask("Counter.read").isSuccess)
                #expect(try await Self.resident(gateway) < before + Self.bound + Self.slack)
                await cluster.postgres.resume()
                #expect(try await waiting.value.isSuccess)
                for socket in sockets { await socket.close() }
                try await eventually("nothing is held any more") {
                    try await gateway.metric("strata_gateway_input_bytes") == 0
                }
                let alone = try await Self.open(users[0], port: cluster.port)
                await alone.send(frame(40_000))
                #expect(await Self.refusal(alone) == "service_unavailable")
                await alone.close()
                #expect(honest.faults == [])
            }
        }
    }
}
