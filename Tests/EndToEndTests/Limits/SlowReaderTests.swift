// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Promise 3.10 of docs/architecture.md: a slow reader has a bounded backlog.
    @Suite("slow readers")
    struct SlowReaderTests {
        private static let bound = 65_536
        /// An upper bound for the bytes of one message's packets. They are queued regardless of the limit if nothing
        /// else is queued.
        private static let packets = 40_000
        private static let slow = 200

        @Test(
            "two hundred stalled readers are closed one by one; others receive everything, and the backlog stays within its limit"
        )
        func bounded() async throws {
            try await Cluster.with(
                Cluster.Size(settings: ["STRATA_SOCKET_BACKLOG_BYTES": "\(Self.bound)"].merging(Cluster.patient) { $1 })
            ) {
                cluster in
                let users = try await cluster.app().signIn(["ana", "ben", "cleo", "slow"])
                let conversation = try await users[0].converse(with: Array(users.dropFirst()))
                var fast: [ProtocolSocket] = []
                for user in users.dropLast() { fast.append(try await user.open()) }
                let slow = try await stoppedSockets(of: users[3], conversation)
                let gateway = cluster.instances(of: .gateway)[0]
                var (sent, greatest, hasTyped) = (0, 0.0, false)
                // Send until all are closed. The test cannot know how much the kernels buffer for each socket.
                while try await gateway.metric("strata_gateway_slow_sockets_closed_total") < Double(Self.slow) {
                    #expect(sent < 400)
                    guard sent < 400 else { break }
                    #expect(
                        try await fast[0].ask("Message.create", conversation.id, Self.message("message \(sent)"))
                            .isSuccess)
                    for socket in fast { try await socket.message("message \(sent)") }
                    sent += 1
                    let backlog = try await gateway.metric("strata_gateway_socket_backlog_bytes")
                    greatest = max(greatest, backlog)
                    if backlog > 0, !hasTyped {
                        hasTyped = true
                        try await Self.type(fast, in: conversation, gateway)
                    }
                    #expect(backlog <= Double((Self.bound + Self.packets) * Self.slow))
                }
                #expect(greatest > 0)
                for socket in fast {
                    #expect(socket.closure == nil)
                    #expect(socket.faults == [])
                }
                try await comesBack(slow, sent: sent, users[3])
                try await eventually("nothing waits any more") {
                    try await gateway.metric("strata_gateway_socket_backlog_bytes") == 0
                }
            }
        }

        /// Sends a typing signal. Fast readers receive it; for slow readers it is dropped.
        private static func type(
            _ fast: [ProtocolSocket], in conversation: Conversation, _ gateway: ServiceProcess
        ) async throws {
            try await fast[0].typing("started", in: conversation.id)
            _ = try await fast[1]
                .nextPacket("typing", deadline: Waiting.deadline) {
                    $0.isTyping("started", conversation: conversation.id)
                }
            try await eventually("it is dropped for slow ones") {
                try await gateway.metric("strata_gateway_ephemerals_dropped_total") > 0
            }
        }

        /// Opens sockets that receive the conversation and then stop reading.
        private func stoppedSockets(of user: TestUser, _ conversation: Conversation) async throws -> [ProtocolSocket] {
            var options = ProtocolSocket.Options()
            options.receiveBuffer = 16_384
            var sockets: [ProtocolSocket] = []
            for _ in 0..<Self.slow {
                let socket = try await user.client.openSocket(
                    sessionToken: user.token, options: options, deadline: Waiting.deadline)
                _ = try await socket.request("Counter.read", deadline: Waiting.deadline)
                sockets.append(socket)
            }
            for socket in sockets {
                try await socket.change("create", "Conversation", conversation.id)
                try await socket.pauseReading()
            }
            return sockets
        }

        /// Expects a socket that reads again to see why it was closed, and to get everything by a replay.
        private func comesBack(_ sockets: [ProtocolSocket], sent: Int, _ user: TestUser) async throws {
            for socket in sockets.prefix(5) {
                try await socket.resumeReading()
                let closure = try await socket.waitForClose(deadline: Waiting.deadline)
                // The close frame follows the unread data. It is lost with that data if the client is too slow.
                #expect(closure.code == 1013 || closure.code == nil)
                let since = try #require(socket.history.last?.timestamp)
                let seen = Set(socket.history.compactMap { Self.text($0) })
                let again = try await user.openSilent()
                #expect(try await again.ask("Event.replay", nil, ["from_timestamp": .string(since)]).isSuccess)
                let missed = Set(again.history.compactMap { Self.text($0) })
                #expect(seen.union(missed).isSuperset(of: (0..<sent).map { "message \($0)" }))
                #expect(again.faults == [])
                await again.close()
            }
            for socket in sockets.dropFirst(5) { await socket.abort(reset: true) }
        }

        private static func text(_ packet: ReceivedPacket) -> String? {
            packet.isChange("create", of: "Message") ? packet.data["parts"][0]["body"].string : nil
        }

        /// Returns a message of about 16 KB.
        private static func message(_ text: String) -> JSONValue {
            let filling: JSONValue = ["mime_type": "text/plain", "body": .string(String(repeating: "x", count: 2000))]
            return [
                "parts": .array(
                    [["mime_type": "text/plain", "body": .string(text)]] + Array(repeating: filling, count: 8))
            ]
        }
    }
}
