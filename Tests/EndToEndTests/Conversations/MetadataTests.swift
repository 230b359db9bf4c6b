// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("metadata")
    struct MetadataTests {
        @Test("patches reach both users live and in order, through two gateways")
        func live() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let sockets = [try await users[0].open(via: 0), try await users[1].open(via: 1)]
            let conversation = try await users[0].converse(with: [users[1]])
            // A socket's first view of a conversation may already include changes made before it joined.
            for socket in sockets { try await socket.change("create", "Conversation", conversation.id) }
            for round in 0..<20 {
                let writer = users[round % 2]
                try await writer.patch(
                    conversation, set("metadata.trip.day\(round % 3).note", .string("note \(round)")),
                    set("metadata.last", .string("\(round)")))
            }
            try await users[0].patch(conversation, delete("metadata.trip"), set("metadata.last", "end"))
            for socket in sockets {
                try await socket.change("update", "Conversation", conversation.id) {
                    $0.has("set", property: "metadata.last", value: "end")
                }
                let order = socket.packets(of: conversation)
                    .compactMap { packet in
                        packet.data.array?.first { $0["property"].string == "metadata.last" }?["value"].string
                    }
                #expect(order == (0..<20).map { "\($0)" } + ["end"])
                #expect(socket.replica(of: conversation)?.metadata == ["last": "end"])
                #expect(socket.faults == [])
            }
            #expect(try await users[1].view(of: conversation)["metadata"] == ["last": "end"])
        }

        @Test("a patch without effect is not announced and takes no position")
        func withoutEffect() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let socket = try await users[1].open()
            let conversation = try await users[0].converse(with: [users[1]], metadata: ["a": "1"])
            try await socket.change("create", "Conversation", conversation.id)
            try await users[0].patch(conversation, set("metadata.a", "1"), delete("metadata.nothing.there"))
            try await users[0].patch(conversation, set("metadata.a", "2"))
            let update = try await socket.change("update", "Conversation", conversation.id)
            #expect(update.body["position"].int == 2)
            #expect(update.data == [set("metadata.a", "2")])
        }

        @Test("concurrent sets of a and a.b keep one of them, consistently everywhere")
        func prefixes() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let sockets = [try await users[0].open(via: 0), try await users[1].open(via: 1)]
            for round in 0..<12 {
                let conversation = try await users[0].converse(with: [users[1]], distinct: false)
                for socket in sockets { try await socket.change("create", "Conversation", conversation.id) }
                async let short: Void = users[0].patch(conversation, set("metadata.a", "short"))
                async let long: Void = users[1].patch(conversation, set("metadata.a.b", "long"))
                _ = try await (short, long)
                try await users[0].patch(conversation, set("metadata.end", .string("\(round)")))
                let views = [
                    try await users[0].view(of: conversation)["metadata"],
                    try await users[1].view(of: conversation)["metadata"],
                ]
                #expect(views[0] == views[1])
                #expect(views[0]["a"] == "short" || views[0]["a"] == ["b": "long"])
                for socket in sockets {
                    try await socket.change("update", "Conversation", conversation.id) {
                        $0.has("set", property: "metadata.end")
                    }
                    #expect(socket.replica(of: conversation)?.metadata == views[0])
                }
            }
            for socket in sockets { #expect(socket.faults == []) }
        }

        @Test("concurrent sets of two keys by many users all persist")
        func manyKeys() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben", "cleo", "dan"])
            let socket = try await users[3].open()
            let conversation = try await users[0].converse(with: Array(users.dropFirst()))
            try await socket.change("create", "Conversation", conversation.id)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, user) in users.enumerated() {
                    group.addTask {
                        for key in 0..<10 {
                            try await user.patch(
                                conversation, set("metadata.by.\(user.user).key\(key)", .string("\(index)")))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let view = try await users[1].view(of: conversation)
            let head = try #require(view["position"].int)
            #expect(head == 41)
            try await socket.positions(upTo: head, of: conversation)
            #expect(view["metadata"]["by"].object?.values.allSatisfy { $0.object?.count == 10 } == true)
            #expect(
                socket.replica(of: conversation) == (try await ConversationReplica(users[3].view(of: conversation))))
            #expect(socket.ledger.missing(of: conversation.id, upTo: head) == [])
            #expect(socket.faults == [])
        }

        private static func values(_ range: Range<Int>, bytes: Int) -> JSONValue {
            .object(
                Dictionary(
                    uniqueKeysWithValues: range.map { ("k\($0)", .string(String(repeating: "v", count: bytes))) }))
        }

        @Test("the metadata service and the conversations service refuse an invalid patch with the same message")
        func refusedAlike() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let conversation = try await users[0]
                .converse(with: [users[1]], metadata: Self.values(100..<500, bytes: 2048))
            let before = try await users[0].view(of: conversation)
            let refused: [(JSONValue, Int, String)] = [
                (set("metadata.more", Self.values(100..<212, bytes: 2048)), 422, "invalid_property"),
                (set("metadata.many", Self.values(0..<20_000, bytes: 0)), 400, "invalid_request"),
                (set("metadata.__proto__.polluted", "x"), 422, "invalid_property"),
            ]
            for (operation, status, id) in refused {
                let alone = try await users[0].call("PATCH", layerPath(conversation.id), [operation])
                let beside = try await users[0].call("PATCH", layerPath(conversation.id), [add(users[1]), operation])
                #expect(alone.status == status && alone.json["id"].string == id)
                #expect(beside.status == status && beside.body == alone.body)
            }
            #expect(try await users[0].view(of: conversation) == before)
        }

        @Test("a tree that is too large is refused at creation, over REST and on a socket")
        func tooLargeAtCreation() async throws {
            let user = try await Cluster.shared().app().signIn("ana")
            // The request is short enough. The tree is too large, because a key counts in each path that contains it.
            let metadata = JSONValue.object([String(repeating: "p", count: 1000): Self.values(100..<612, bytes: 1200)])
            let body: JSONValue = ["participants": [], "distinct": false, "metadata": metadata]
            let answer = try await user.call("POST", "/conversations", body)
            #expect(
                answer.status == 422 && answer.json["id"].string == "invalid_property"
                    && answer.json["data"]["property"].string == "metadata")
            let socket = try await user.open()
            let response = try await socket.ask("Conversation.create", nil, body)
            #expect(!response.isSuccess && response.data["id"].string == "invalid_property")
        }
    }
}
