// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("messages")
    struct MessageTests {
        @Test("messages are delivered in both directions, with receipts and counts")
        func receipts() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben.o"])
            let (ana, ben) = (users[0], users[1])
            let (anas, bens) = (try await ana.open(), try await ben.open())
            let conversation = try await ana.converse(with: [ben])
            let id =
                "layer:///messages/8a1c2d00-0000-4000-8000-\(String(UInt64.random(in: 0..<1 << 44) | 1 << 47, radix: 16))"
            let sent = try await anas.ask("Message.create", conversation.id, TestUser.message("hello", id: id))
            #expect(sent.data["id"].string == id)
            #expect(sent.data["recipient_status"] == .object([ana.identity: "read", ben.identity: "sent"]))
            let received = try await bens.message("hello")
            #expect(received.data["is_unread"].bool == true)
            #expect(received.data["sender"]["id"].string == ana.identity)
            // The counts come with the message. If the message came while the socket joined the conversation, they come
            // once at the end of joining.
            try await eventually("Ben is told of the last message, and of one unread of one") {
                let updates = bens.packets(of: conversation).filter { $0.isChange("update", of: "Conversation") }
                let replica = bens.replica(of: conversation)
                return updates.contains { $0.data.has("set", property: "last_message") } && replica?.unread == 1
                    && replica?.total == 1
            }
            let own = try await anas.message("hello")
            #expect(own.data["is_unread"].bool == false)
            // Dots in an identity's id are escaped in property paths.
            let status = #"recipient_status.layer:///identities/ben\.o"#
            for (type, word) in [("delivery", "delivered"), ("read", "read")] {
                try await ben.does("POST", layerPath(id) + "/receipts", ["type": .string(type)])
                for socket in [anas, bens] {
                    try await socket.change("update", "Message", id) {
                        $0.has("set", property: status, value: .string(word))
                    }
                }
            }
            try await bens.change("update", "Conversation", conversation.id) {
                $0.has("set", property: "unread_message_count", value: 0)
            }
            // A repeated receipt has no effect and is not announced.
            try await ben.does("POST", layerPath(id) + "/receipts", ["type": "read"])
            try await ben.send("and back", to: conversation)
            try await anas.message("and back")
            try await anas.change("update", "Conversation", conversation.id) {
                $0.has("set", property: "unread_message_count", value: 1)
            }
            let head = try #require(try await ana.view(of: conversation)["position"].int)
            #expect(head == 5)
            for socket in [anas, bens] {
                #expect(socket.ledger.missing(of: conversation.id, upTo: head) == [])
                #expect(socket.faults == [])
            }
        }

        @Test("mark_all_read is one operation packet for all, with the reader's own count")
        func markAllRead() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            let (anas, bens) = (try await ana.open(), try await ben.open())
            let conversation = try await ana.converse(with: [ben])
            for number in 0..<3 { try await ana.send("message \(number)", to: conversation) }
            let last = try await bens.message("message 2")
            #expect(try await ben.view(of: conversation)["unread_message_count"].int == 3)
            try await ben.does("POST", conversation.path + "/mark_all_read", ["position": nil])
            for socket in [anas, bens] {
                let packet = try await socket.nextPacket("mark_all_read", deadline: Waiting.deadline) {
                    $0.type == "operation" && $0.body["method"].string == "Conversation.mark_all_read"
                }
                #expect(packet.data["identity"]["id"].string == ben.identity)
                #expect((packet.data["position"].int ?? 0) >= (last.data["position"].int ?? .max))
            }
            try await bens.change("update", "Conversation", conversation.id) {
                $0.has("set", property: "unread_message_count", value: 0)
            }
            let messages = try await ana.does("GET", conversation.path + "/messages").json.array ?? []
            #expect(messages.count == 3)
            #expect(messages.allSatisfy { $0["recipient_status"][ben.identity] == "read" })
            #expect(try await ben.view(of: conversation)["unread_message_count"].int == 0)
        }

        @Test("a message repeated by id is not sent twice", arguments: [true, false])
        func repeated(overSocket: Bool) async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let socket = try await users[1].open()
            let conversation = try await users[0].converse(with: [users[1]])
            let first = try await users[0].send("once", to: conversation)
            let body = TestUser.message("once", id: first)
            let error: JSONValue
            if overSocket {
                error = try await users[0].open().ask("Message.create", conversation.id, body).data
            } else {
                error = try await users[0].call("POST", conversation.path + "/messages", body).json
            }
            #expect(error["id"].string == "id_in_use")
            #expect(error["data"]["id"].string == first)
            try await users[0].send("end", to: conversation)
            try await socket.message("end")
            #expect(socket.history.filter { $0.isChange("create", of: "Message", id: first) }.count == 1)
            #expect(try await users[1].view(of: conversation)["total_message_count"].int == 2)
        }

        @Test("both versions of the protocol get the same message, each in its own shape")
        func versions() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let ben = try await app.signIn("ben", via: 1, version: .v2)
            let socket = try await ben.open()
            let conversation = try await ana.converse(with: [ben])
            try await ana.send("hello", to: conversation)
            let message = try await socket.message("hello")
            let id = try #require(message.objectID)
            #expect(message.data["parts"][0]["id"].string == id + "/parts/0")
            let own = try await ana.does("GET", layerPath(id)).json
            #expect(own["parts"][0]["id"].string?.hasPrefix(id + "/parts/") == true)
            #expect(own["parts"][0]["id"].string != id + "/parts/0")
        }

        @Test("lists are paged, newest first, and contain their total")
        func paging() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let conversation = try await users[0].converse(with: [users[1]])
            var ids: [String] = []
            for number in 0..<5 { ids.insert(try await users[0].send("\(number)", to: conversation), at: 0) }
            let first = try await users[1].does("GET", conversation.path + "/messages?page_size=3")
            #expect(first.header("Layer-Count") == "5")
            #expect(first.json.array?.compactMap { $0["id"].string } == Array(ids.prefix(3)))
            let second = try await users[1].does("GET", conversation.path + "/messages?page_size=3&from_id=" + ids[2])
            #expect(second.header("Layer-Count") == "5")
            #expect(second.json.array?.compactMap { $0["id"].string } == Array(ids.suffix(2)))
        }
    }
}
