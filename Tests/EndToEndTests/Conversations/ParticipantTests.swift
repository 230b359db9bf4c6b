// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("participants")
    struct ParticipantTests {
        @Test("an added user receives the whole conversation over their socket, with its history, marked as read")
        func added() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben", "cleo"])
            let (ana, ben, cleo) = (users[0], users[1], users[2])
            let socket = try await cleo.open()
            let bens = try await ben.open()
            let conversation = try await ana.converse(with: [ben], metadata: ["trip": ["city": "Porto"]])
            try await bens.change("create", "Conversation", conversation.id)
            try await ana.send("before", to: conversation)
            try await ana.patch(conversation, add(cleo))
            let created = try await socket.change("create", "Conversation", conversation.id).data
            #expect(created["metadata"] == ["trip": ["city": "Porto"]])
            #expect(created["distinct"].bool == false)
            #expect(
                Set((created["participants"].array ?? []).compactMap { $0["user_id"].string }) == [
                    "ana", "ben", "cleo",
                ])
            #expect(created["last_message"]["parts"][0]["body"].string == "before")
            #expect(created["unread_message_count"].int == 0)
            #expect(created["total_message_count"].int == 1)
            let update = try await bens.change("update", "Conversation", conversation.id) {
                $0.has("set", property: "distinct", value: false)
            }
            let addition = try #require(update.data.array?.first { $0["operation"].string == "add" })
            #expect(addition["id"].string == cleo.identity)
            #expect(addition["value"]["user_id"].string == "cleo")
            let history = try await cleo.does("GET", conversation.path + "/messages").json
            #expect(history[0]["is_unread"].bool == false)
            try await ana.send("after", to: conversation)
            let message = try await socket.message("after")
            #expect(message.data["is_unread"].bool == true)
            #expect(socket.faults == [])
        }

        @Test("a removed user receives the update and nothing later, and keeps their history")
        func removed() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            let socket = try await ben.open()
            let conversation = try await ana.converse(with: [ben], metadata: ["a": "1"], distinct: false)
            let witness = try await ana.converse(with: [ben], distinct: false)
            for known in [conversation, witness] { try await socket.change("create", "Conversation", known.id) }
            try await ana.send("before", to: conversation)
            try await ana.patch(conversation, remove(ben))
            let last = try await socket.change("update", "Conversation", conversation.id) { data in
                (data.array ?? []).contains { $0["operation"].string == "remove" && $0["id"].string == ben.identity }
            }
            try await ana.send("after", to: conversation)
            try await ana.patch(conversation, set("metadata.a", "2"))
            try await ana.send("witness", to: witness)
            try await socket.message("witness")
            #expect(socket.packets(of: conversation).last?.index == last.index)
            let view = try await ben.view(of: conversation)
            #expect(view["participants"] == [])
            #expect(view["metadata"] == ["a": "1"])
            #expect(view["last_message"]["parts"][0]["body"].string == "before")
            let refused = try await ben.call("POST", conversation.path + "/messages", TestUser.message("mine"))
            #expect(refused.errorID == "access_denied")
            #expect(socket.faults == [])
        }

        @Test("a user who is added while their socket opens misses no change")
        func addedWhileOpening() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            for round in 0..<30 {
                async let opening = ben.open(via: round)
                async let creating = ana.converse(
                    with: [ben], metadata: ["round": .string("\(round)")], distinct: false)
                let (socket, conversation) = try await (opening, creating)
                try await ana.send("message \(round)", to: conversation)
                let created = try await socket.change("create", "Conversation", conversation.id)
                let message = try await socket.message("message \(round)")
                #expect(created.index < message.index)
                #expect(socket.faults == [])
                await socket.close()
            }
        }

        @Test("a send that waits for its sender's removal is refused and leaves no gap")
        func sendBehindRemoval() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            let socket = try await ana.open()
            for round in 0..<15 {
                let conversation = try await ana.converse(with: [ben], distinct: false)
                async let removal: Void = ana.patch(conversation, remove(ben))
                async let sending = ben.call("POST", conversation.path + "/messages", TestUser.message("late \(round)"))
                let answer = try await sending
                try await removal
                #expect(answer.status == 201 || answer.errorID == "access_denied")
                try await ana.send("last \(round)", to: conversation)
                try await socket.message("last \(round)")
                let head = try #require(try await ana.view(of: conversation)["position"].int)
                // Creation, removal and the last message, plus the racing message if it was faster than the removal.
                #expect(head == (answer.isSuccess ? 4 : 3))
                #expect(socket.ledger.missing(of: conversation.id, upTo: head) == [])
            }
            #expect(socket.faults == [])
        }
    }
}
