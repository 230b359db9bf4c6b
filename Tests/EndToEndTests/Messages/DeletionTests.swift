// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("deletions")
    struct DeletionTests {
        /// Two users with sockets, and a conversation with two messages by Ana.
        private struct Scene {
            let ana: TestUser
            let ben: TestUser
            let anas: ProtocolSocket
            let bens: ProtocolSocket
            let conversation: Conversation
            let messages: [String]

            init() async throws {
                let users = try await Cluster.shared().app().signIn(["ana", "ben"])
                (ana, ben) = (users[0], users[1])
                (anas, bens) = (try await ana.open(), try await ben.open())
                conversation = try await ana.converse(with: [ben], distinct: false)
                messages = [
                    try await ana.send("first", to: conversation), try await ana.send("second", to: conversation),
                ]
                for socket in [anas, bens] { try await socket.message("second") }
            }

            /// Sends a message in another conversation of both users and waits for it. Everything sent before it has
            /// then arrived.
            func witness() async throws {
                let other = try await ana.converse(with: [ben], distinct: false)
                try await ana.send("witness", to: other)
                for socket in [anas, bens] { try await socket.message("witness") }
            }
        }

        @Test("a message deleted for all disappears for all, and the previous message becomes the last")
        func messageForAll() async throws {
            let scene = try await Scene()
            try await scene.ben.does("DELETE", layerPath(scene.messages[1]) + "?mode=all_participants")
            for socket in [scene.anas, scene.bens] {
                let deletion = try await socket.change("delete", "Message", scene.messages[1])
                #expect(deletion.data["mode"].string == "all_participants")
                let update = try await socket.nextPacket("the update", deadline: Waiting.deadline) {
                    $0.index > deletion.index
                }
                #expect(update.isChange("update", of: "Conversation", id: scene.conversation.id))
                #expect(
                    update.data.array?.first { $0["property"].string == "last_message" }?["id"].string
                        == scene.messages[0])
                #expect(
                    update.data.array?.first { $0["property"].string == "last_message" }?["value"]["id"].string
                        == scene.messages[0])
                #expect(socket.faults == [])
            }
            for user in [scene.ana, scene.ben] {
                #expect(try await user.call("GET", layerPath(scene.messages[1])).errorID == "not_found")
                #expect(try await user.view(of: scene.conversation)["total_message_count"].int == 1)
            }
            #expect(try await scene.ben.view(of: scene.conversation)["unread_message_count"].int == 1)
        }

        @Test("a message deleted from a user's own devices stays for others")
        func messageForMyDevices() async throws {
            let scene = try await Scene()
            try await scene.ben.does("DELETE", layerPath(scene.messages[1]) + "?mode=my_devices")
            let deletion = try await scene.bens.change("delete", "Message", scene.messages[1])
            #expect(deletion.data["mode"].string == "my_devices")
            try await scene.witness()
            #expect(!scene.anas.history.contains { $0.isChange("delete", of: "Message") })
            #expect(try await scene.ben.call("GET", layerPath(scene.messages[1])).errorID == "not_found")
            #expect(try await scene.ana.call("GET", layerPath(scene.messages[1])).status == 200)
            #expect(try await scene.ben.view(of: scene.conversation)["last_message"]["id"].string == scene.messages[0])
        }

        @Test("a conversation deleted for all disappears for all")
        func conversationForAll() async throws {
            let scene = try await Scene()
            try await scene.ben.does("DELETE", scene.conversation.path + "?mode=all_participants")
            for socket in [scene.anas, scene.bens] {
                let deletion = try await socket.change("delete", "Conversation", scene.conversation.id)
                #expect(deletion.data == ["mode": "all_participants", "from_position": nil])
                #expect(!socket.history.contains { $0.isChange("delete", of: "Message") })
                #expect(socket.faults == [])
            }
            for user in [scene.ana, scene.ben] {
                #expect(try await user.call("GET", scene.conversation.path).errorID == "not_found")
                #expect(
                    try await user.call("PATCH", scene.conversation.path, [set("metadata.a", "1")]).errorID
                        == "not_found")
            }
        }

        @Test("a conversation deleted from a user's own devices reappears with only the next message")
        func conversationForMyDevices() async throws {
            let scene = try await Scene()
            try await scene.ben.does("DELETE", scene.conversation.path + "?mode=my_devices")
            let deletion = try await scene.bens.change("delete", "Conversation", scene.conversation.id)
            #expect(deletion.data == ["mode": "my_devices", "from_position": nil])
            #expect(try await scene.ben.call("GET", scene.conversation.path).errorID == "not_found")
            try await scene.witness()
            #expect(!scene.anas.history.contains { $0.isChange("delete", of: "Conversation") })
            let other = try #require(try await scene.ben.does("GET", "/conversations").json.array)
            #expect(!other.contains { $0["id"].string == scene.conversation.id })
            scene.bens.discardPending()
            try await scene.ana.send("third", to: scene.conversation)
            let created = try await scene.bens.change("create", "Conversation", scene.conversation.id)
            let message = try await scene.bens.message("third")
            #expect(created.index < message.index)
            let messages = try await scene.ben.does("GET", scene.conversation.path + "/messages")
            #expect(messages.header("Layer-Count") == "1")
            #expect(messages.json[0]["parts"][0]["body"].string == "third")
            let view = try await scene.ben.view(of: scene.conversation)
            #expect(view["unread_message_count"].int == 1)
            #expect(view["total_message_count"].int == 1)
            #expect(try await scene.ana.view(of: scene.conversation)["total_message_count"].int == 3)
        }

        @Test("a user who deletes a conversation and leaves is removed for others")
        func leave() async throws {
            let scene = try await Scene()
            try await scene.ben.does("DELETE", scene.conversation.path + "?mode=my_devices&leave=true")
            try await scene.bens.change("delete", "Conversation", scene.conversation.id)
            try await scene.anas.change("update", "Conversation", scene.conversation.id) { data in
                (data.array ?? [])
                    .contains { $0["operation"].string == "remove" && $0["id"].string == scene.ben.identity }
            }
            try await scene.ana.send("third", to: scene.conversation)
            try await scene.witness()
            #expect(
                !scene.bens.history.contains {
                    $0.isChange("create", of: "Message") && $0.data["parts"][0]["body"].string == "third"
                })
        }

        @Test("a deletion without a mode is refused")
        func withoutMode() async throws {
            let scene = try await Scene()
            for path in [scene.conversation.path, layerPath(scene.messages[0])] {
                let answer = try await scene.ana.call("DELETE", path)
                #expect(answer.status == 422)
                #expect(answer.json["data"]["property"].string == "mode")
            }
        }
    }
}
