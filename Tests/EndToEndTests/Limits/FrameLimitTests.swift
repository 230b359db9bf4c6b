// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Clients that refuse frames of more than 4 MB. The test has its own system without a limit on metadata.
    @Suite("frames of limited size", .timeLimit(.minutes(5)))
    struct FrameLimitTests {
        private func open(_ user: TestUser) async throws -> ProtocolSocket {
            var options = ProtocolSocket.Options()
            options.frameLimit = 4 << 20
            return try await user.client.openSocket(
                sessionToken: user.token, options: options, deadline: Waiting.deadline)
        }

        /// Returns a client's metadata after applying these packets.
        private func metadata(
            _ packets: [ReceivedPacket], of conversation: Conversation, from object: JSONValue
        ) -> JSONValue {
            var metadata = object["metadata"]
            for packet in packets where packet.isChange("update", of: "Conversation", id: conversation.id) {
                for operation in packet.data.array ?? [] {
                    guard let property = operation["property"].string, property.hasPrefix("metadata.") else { continue }
                    metadata[String(property.dropFirst("metadata.".count))] = operation["value"]
                }
            }
            return metadata
        }

        @Test(
            "a conversation with large metadata is sent in several frames: to an added user, in a replay, and in an answer",
            .long)
        func conversation() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_METADATA_MAX_BYTES": "0"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben", "cleo"])
                let conversation = try await users[0].converse(with: [users[1]], distinct: false)
                let cleos = try await open(users[2])
                _ = try await cleos.request("Counter.read", deadline: Waiting.deadline)
                for patch in 0..<6 {
                    let operations = (0..<400)
                        .map { number -> JSONValue in
                            [
                                "operation": "set", "property": .string("metadata.key\(patch)-\(number)"),
                                "value": .string(String(repeating: "x", count: 2000)),
                            ]
                        }
                    try await users[0].does("PATCH", conversation.path, .array(operations))
                }
                let whole = try await users[1].view(of: conversation)["metadata"]
                #expect(whole.object?.count == 2400)

                try await users[0]
                    .patch(
                        conversation,
                        ["operation": "add", "property": "participants", "id": .string(users[2].identity)])
                try await users[0].send("the end", to: conversation)
                _ = try await cleos.nextPacket("the message", deadline: Waiting.deadline) {
                    $0.isChange("create", of: "Message")
                }
                let created = try #require(
                    cleos.history.first { $0.isChange("create", of: "Conversation", id: conversation.id) })
                #expect(created.data["metadata"].object?.isEmpty == true)
                #expect(metadata(cleos.history, of: conversation, from: created.data) == whole)
                let updates = cleos.history.filter {
                    $0.isChange("update", of: "Conversation")
                        && $0.data[0]["property"].string?.hasPrefix("metadata.") == true
                }
                #expect(updates.count > 1 && updates.allSatisfy { $0.body["position"] == created.body["position"] })

                let bens = try await open(users[1])
                let answer = try await bens.request(
                    "Event.replay", data: ["from_timestamp": "2020-01-01T00:00:00.000Z"], deadline: .now + .seconds(60))
                #expect(answer.isSuccess && answer.data["complete"] == true)
                let replayed = try #require(
                    bens.history.first { $0.isChange("create", of: "Conversation", id: conversation.id) })
                #expect(metadata(bens.history, of: conversation, from: replayed.data) == whole)

                let anas = try await open(users[0])
                _ = try await anas.request("Counter.read", deadline: Waiting.deadline)
                let taken = try await anas.request(
                    "Conversation.create", data: ["id": .string(conversation.id), "participants": []],
                    deadline: Waiting.deadline)
                #expect(taken.data["id"] == "id_in_use" && taken.data["data"]["metadata"].object?.isEmpty == true)
                _ = try await anas.request("Counter.read", deadline: Waiting.deadline)
                let behind = anas.history.filter { $0.index > taken.packet.index }
                #expect(metadata(behind, of: conversation, from: taken.data["data"]) == whole)
                for socket in [cleos, bens, anas] { #expect(socket.faults == []) }
            }
        }
    }
}
