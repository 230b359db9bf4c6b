// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Bounds on outgoing data. Each test fills its system and therefore has its own.
    @Suite("limits of output", .timeLimit(.minutes(10)))
    struct AnswerLimitTests {
        private static let bound = 64 << 20
        /// The number of metadata leaves of one conversation, far above today's limit. Such trees can exist from before
        /// there was a limit.
        private static let leaves = 5000
        private static let treeBytes = 2000.0 * Double(leaves)
        private static let readers = 12

        private static func request(_ users: [TestUser]) -> String {
            """
            {"type":"request","body":{"request_id":"all","method":"Conversation.create",\
            "data":{"participants":["\(users[1].identity)"]}}}
            """
        }

        private static func memory(_ gateway: ServiceProcess, _ name: String) async throws -> Int {
            let pid = try #require(await gateway.pid)
            let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + ":") })
            return (Int(line.filter(\.isNumber)) ?? 0) << 10
        }

        @Test(
            "twelve sockets that request a large conversation without reading stay within the memory limit, and other sockets are served",
            .long)
        func silentSockets() async throws {
            // When the budget is nearly used up, slow clients are cut off after a twelfth of the timeout. On a slow
            // machine, the next answers must be ready within that time. Otherwise there is room again before one is
            // refused.
            let settings = ["STRATA_ANSWER_BYTES": "\(Self.bound)", "STRATA_STALL_TIMEOUT": "30s"]
            try await Cluster.with(Cluster.Size(settings: settings.merging(Cluster.patient) { $1 })) { cluster in
                let app = try await cluster.app()
                let earlier = try await app.signIn(["ana", "ben"])
                let conversation = try await earlier[0].converse(with: [earlier[1]])
                try await LargeAnswerTests.grow(cluster, leaves: Self.leaves)
                // The second sessions are newer than the large tree, so their sockets are not sent the conversation
                // unasked.
                let users = try await app.signIn(["ana", "ben"])
                let honest = try await users[1].open()
                let gateway = cluster.instances(of: .gateway)[0]
                let before = try await Self.memory(gateway, "VmRSS")

                var silent: [SilentReader] = []
                for _ in 0..<Self.readers {
                    let said = SilentReader.socket(saying: Self.request(users), token: users[0].token)
                    silent.append(try #require(await SilentReader.open(cluster.urls[0], saying: said)))
                }
                try await eventually("each has its answer waiting, or was refused") {
                    #expect(try await users[1].call("GET", "/ping").status == 200)
                    #expect(try await honest.ask("Counter.read").isSuccess)
                    let waiting = try await gateway.metric("strata_gateway_socket_backlog_bytes")
                    // A client that holds a large answer has little time while the budget is nearly used up.
                    let cut = try await gateway.metric("strata_gateway_connections_cut_total", #"reason="stalled""#)
                    return Int((waiting / Self.treeBytes).rounded()) + Int(try await Self.refusals(of: gateway))
                        + Int(cut) >= Self.readers
                }
                #expect(try await gateway.metric("strata_gateway_answer_bytes") <= Double(Self.bound))
                try await eventually("a large answer is refused, over REST and on a socket") {
                    // On a slow machine some clients are cut off before another one has its answer, so several are
                    // started at a time.
                    for _ in 0..<4 {
                        let said = SilentReader.socket(saying: Self.request(users), token: users[0].token)
                        silent.append(try #require(await SilentReader.open(cluster.urls[0], saying: said)))
                    }
                    return try await Self.isRefused(users, honest, conversation)
                }
                #expect(try await Self.refusals(of: gateway) > 0)
                #expect(try await gateway.metric("strata_gateway_answer_bytes") <= Double(Self.bound))
                try await users[0].send("short", to: conversation)
                #expect(try await users[1].call("GET", conversation.path + "/messages").isSuccess)
                let peak = try await Self.memory(gateway, "VmHWM")
                #expect(peak - before < 4 * Self.bound, "\(before) to \(peak)")

                try await eventually("those who take nothing are cut off") {
                    try await gateway.metric("strata_gateway_connections_cut_total", #"reason="stalled""#) > 0
                }
                try await eventually("nothing is held any more") {
                    try await gateway.metric("strata_gateway_answer_bytes") < 1_000_000
                }
                #expect(try await gateway.metric("strata_gateway_socket_backlog_bytes") == 0)
                let answer = try await LargeReader.get(conversation.path, by: users[1], port: cluster.port).answer()
                #expect(answer.status == "HTTP/1.1 200 OK" && answer.isComplete)
                #expect(answer.body.readableBytes > Int(Self.treeBytes))
                #expect(honest.faults == [])
                for reader in silent { await reader.close() }
            }
        }

        /// Returns the number of requests refused because the answer budget was exhausted.
        private static func refusals(of gateway: ServiceProcess) async throws -> Double {
            try await gateway.metric("strata_gateway_refused_requests_total", #"by="answer_bytes""#)
        }

        /// Returns true if there is no room for another large answer. Both transports must then refuse it in the
        /// documented way.
        private static func isRefused(
            _ users: [TestUser], _ honest: ProtocolSocket, _ conversation: Conversation
        ) async throws -> Bool {
            let create = try await honest.ask(
                "Conversation.create", nil, ["participants": [.string(users[0].identity)]])
            let large = try await users[1].call("GET", conversation.path)
            guard !create.isSuccess, large.status != 200 else { return false }
            #expect(create.errorID == "service_unavailable")
            #expect(large.status == 503 && large.errorID == "service_unavailable")
            #expect(large.header("Retry-After") != nil)
            return true
        }

        @Test("a REST client that reads no answer is disconnected, and its pending output is released")
        func silentRequests() async throws {
            let settings = ["STRATA_STALL_TIMEOUT": "1s"]
            try await Cluster.with(Cluster.Size(settings: settings.merging(Cluster.patient) { $1 })) { cluster in
                let users = try await LargeAnswerTests.conversations(3, leaves: 1000, in: cluster)
                let gateway = cluster.instances(of: .gateway)[0]
                let list = try await users[0].call("GET", "/conversations?page_size=1")
                let one = try #require(list.json[0]["id"].string.map(layerPath))
                // A single object, and a page that is sent in batches.
                for path in [one, "/conversations?page_size=3"] {
                    let before = try await gateway.metric("strata_gateway_connections_cut_total", #"reason="stalled""#)
                    let silent = try await LargeReader.get(path, by: users[0], port: cluster.port, isReading: false)
                    try await eventually("it is cut off") {
                        try await gateway.metric("strata_gateway_connections_cut_total", #"reason="stalled""#) == before
                            + 1
                    }
                    try await eventually("nothing is held") {
                        try await gateway.metric("strata_gateway_answer_bytes") < 100_000
                    }
                    try await silent.resume()
                    #expect(try await silent.answer().isComplete == false)
                }
            }
        }

        @Test("the maximum number of a message's parts is a setting that applies everywhere")
        func parts() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_MESSAGE_PARTS_LIMIT": "3"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let part: JSONValue = ["mime_type": "text/plain", "body": "x"]
                func parts(_ count: Int) -> JSONValue { .array(Array(repeating: part, count: count)) }
                func expectRefusal(_ method: String, _ path: String, _ body: JSONValue) async throws {
                    let answer = try await users[0].call(method, path, body)
                    #expect(
                        answer.status == 422 && answer.errorID == "invalid_property",
                        "\(method) \(path): \(answer.status)")
                    #expect(answer.json["data"]["property"].string == "parts")
                }
                try await expectRefusal("POST", conversation.path + "/messages", ["parts": parts(4)])
                let message = try await users[0].does("POST", conversation.path + "/messages", ["parts": parts(3)])
                let path = layerPath(try #require(message.json["id"].string))
                try await expectRefusal("POST", path + "/parts", part)
                try await expectRefusal("PUT", path + "/parts", parts(4))
                try await users[0].does("PUT", path + "/parts", parts(3))
                let socket = try await users[0].open()
                let answer = try await socket.ask("Message.create", conversation.id, ["parts": parts(4)])
                #expect(answer.errorID == "invalid_property")
                #expect(try await socket.ask("Message.create", conversation.id, ["parts": parts(3)]).isSuccess)
            }
        }
    }
}
