// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("former participants")
    struct FormerTests {
        private struct Scene {
            let users: [TestUser]
            let conversation: Conversation
            let messages: [String]
            let content: AnnouncedContent

            /// All paths by which a user can read the conversation.
            var paths: [String] {
                let lists = [
                    "/conversations", "/conversations?sort_by=last_message&page_size=1", "/conversations?messages=20",
                    "/conversations?messages=unread", conversation.path, conversation.path + "/messages",
                    conversation.path + "/messages?page_size=1", conversation.path + "/messages?from_id=\(messages[1])",
                    content.path,
                ]
                return lists
                    + messages.flatMap { [layerPath($0), layerPath($0) + "/parts", layerPath($0) + "/parts/0"] }
            }
        }

        /// Creates a conversation of Ana, Ben and Cleo. The caller removes Cleo.
        private func scene(_ version: ProtocolVersion) async throws -> Scene {
            let app = try await Cluster.shared().app()
            var users: [TestUser] = []
            for name in ["ana", "ben", "cleo"] { users.append(try await app.signIn(name, version: version)) }
            let conversation = try await users[0]
                .converse(
                    with: Array(users[1...]), metadata: ["title": "before", "a": ["b": "1"]], distinct: false)
            let content = try await users[0].upload(Data("bytes".utf8))
            var messages: [String] = []
            for (index, text) in ["first", "second", "third"].enumerated() {
                var body = TestUser.message(text)
                if index == 2 { body["parts"] = .array((body["parts"].array ?? []) + [content.part]) }
                messages.append(
                    try await users[index % 2].does("POST", conversation.path + "/messages", body).json["id"].string
                        ?? "")
            }
            try await users[2].does("POST", layerPath(messages[0]) + "/receipts", ["type": "read"])
            try await users[1].does("POST", layerPath(messages[0]) + "/receipts", ["type": "delivery"])
            return Scene(users: users, conversation: conversation, messages: messages, content: content)
        }

        /// Makes every kind of change that other participants can make without deleting what Cleo sees.
        private func goOn(_ scene: Scene) async throws {
            let (ana, ben) = (scene.users[0], scene.users[1])
            let late = try await ana.app.signIn("late-comer", version: ana.version)
            try await ana.patch(
                scene.conversation, add(late), set("metadata.title", "after"), set("metadata.later", "after"),
                delete("metadata.a.b"))
            let later = try await ben.send("after", to: scene.conversation)
            for message in scene.messages {
                try await late.does("POST", layerPath(message) + "/receipts", ["type": "read"])
            }
            for message in scene.messages {
                try await ben.does("POST", layerPath(message) + "/receipts", ["type": "read"])
            }
            try await ana.does("POST", scene.conversation.path + "/mark_all_read")
            let part: JSONValue = ["mime_type": "text/plain", "body": "after"]
            // Change the parts twice, so that neither the first nor the last version equals the one that the removed
            // user saw.
            try await ana.does("POST", layerPath(scene.messages[0]) + "/parts", part)
            try await ana.does("PUT", layerPath(scene.messages[0]) + "/parts", [part, part])
            try await ana.does("DELETE", layerPath(later) + "?mode=all_participants")
            try await ana.send("after", to: scene.conversation)
            try await ana.patch(scene.conversation, remove(late))
        }

        private func look(_ user: TestUser, _ scene: Scene) async throws -> [String: String] {
            var seen: [String: String] = [:]
            for path in scene.paths {
                // Download URLs change every hour, regardless of changes.
                seen[path] = AnswerPrint(try await user.call("GET", path)).description
                    .replacing(#/content/downloads/[\w-]+/#, with: "content/downloads/…")
                    .replacing(#/"expiration":"[^"]*"/#, with: "")
            }
            return seen
        }

        @Test(
            "a former participant sees every answer as of their leaving, byte for byte, despite later changes",
            arguments: ProtocolVersion.allCases)
        func frozen(_ version: ProtocolVersion) async throws {
            let scene = try await scene(version)
            let cleo = scene.users[2]
            try await scene.users[0].patch(scene.conversation, remove(cleo))
            let before = try await look(cleo, scene)
            #expect(before.values.allSatisfy { $0.hasPrefix("200") })
            try await goOn(scene)
            let after = try await look(cleo, scene)
            for path in scene.paths { #expect(after[path] == before[path], "\(path)") }
        }

        @Test("a replay sends a former participant nothing later", arguments: ProtocolVersion.allCases)
        func replayed(_ version: ProtocolVersion) async throws {
            let scene = try await scene(version)
            let cleo = scene.users[2]
            try await scene.users[0].patch(scene.conversation, remove(cleo))
            try await goOn(scene)
            let socket = try await cleo.openSilent()
            #expect(try await socket.ask("Event.replay", nil, ["from_timestamp": "2018-05-04T09:30:00.125Z"]).isSuccess)
            let told =
                socket.packets(of: scene.conversation).map(\.description)
                + socket.history.filter { $0.objectType == "Message" }.map(\.description)
            #expect(!told.isEmpty)
            for packet in told {
                for secret in ["\"after\"", "late-comer"] { #expect(!packet.contains(secret), "\(packet)") }
            }
            let first = try #require(
                socket.history.first { $0.isChange("create", of: "Message", id: scene.messages[0]) })
            #expect(
                first.data["recipient_status"]
                    == (try await cleo.does("GET", layerPath(scene.messages[0])).json["recipient_status"]))
            await socket.close()
        }

        @Test("a former participant sees everything again after a re-addition")
        func addedAgain() async throws {
            let scene = try await scene(.v3)
            let (ana, cleo) = (scene.users[0], scene.users[2])
            try await ana.patch(scene.conversation, remove(cleo))
            try await goOn(scene)
            try await ana.patch(scene.conversation, add(cleo))
            #expect(try await cleo.view(of: scene.conversation)["metadata"]["later"] == "after")
            let message = layerPath(scene.messages[0])
            let (anas, cleos) = (try await ana.does("GET", message).json, try await cleo.does("GET", message).json)
            #expect(cleos["parts"] == anas["parts"])
            #expect(cleos["recipient_status"] == anas["recipient_status"])
        }

        @Test("a former participant cannot find later messages with a cursor")
        func cursor() async throws {
            let scene = try await scene(.v3)
            let cleo = scene.users[2]
            try await scene.users[0].patch(scene.conversation, remove(cleo))
            let later = try await scene.users[0].send("after", to: scene.conversation)
            let path = scene.conversation.path + "/messages?from_id="
            let unknown = try await cleo.call("GET", path + "layer:///messages/\(UUID().uuidString.lowercased())")
            #expect(unknown.status == 422)
            #expect(AnswerPrint(try await cleo.call("GET", path + later)) == AnswerPrint(unknown))
        }
    }
}
