// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import ProtocolClient
import StrataKit
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("messages of an app's own server")
    struct ServerMessageTests {
        private struct Scene {
            let server: AppServer
            let ana: TestUser
            let ben: TestUser
            let path: String

            /// Creates a conversation of ana and ben through the server.
            init(_ version: String = "3.0") async throws {
                let app = try await Cluster.shared().app()
                ana = try await app.signIn("ana")
                ben = try await app.signIn("ben", via: 1)
                var server = AppServer(app)
                server.version = version
                self.server = server
                let created = try await server.call(
                    "POST", "/conversations", ["participants": ["ana", "ben"], "distinct": false])
                path = layerPath(try #require(created.json["id"].string))
            }

            var sender: [String: JSONValue] {
                server.version < "2" ? ["sender": ["user_id": "ana"]] : ["sender_id": "layer:///identities/ana"]
            }

            func send(
                _ text: String, by sender: [String: JSONValue]? = nil, headers: [String: String] = [:]
            ) async throws -> RESTResponse {
                try await server.call(
                    "POST", path + "/messages", TestUser.message(text).merging(sender ?? self.sender), headers: headers)
            }

            func bot(_ user: String) async throws {
                let store = AppStore(url: try await Cluster.shared().databaseURL)
                try await store.withConnection { connection in
                    _ = try await connection.query(
                        Statement(
                            "test.bot",
                            sql: """
                                INSERT INTO conversations.identity (app_id, user_id, display_name, is_bot) VALUES ($1, $2, 'Robo', true)
                                ON CONFLICT (app_id, user_id) DO UPDATE SET is_bot = true
                                """), with: [.uuid(server.app.app.id), .text(user)], deadline: Waiting.deadline)
                }
            }
        }

        private func outcome(_ answer: RESTResponse) -> String { "\(answer.status) \(answer.errorID ?? "")" }

        @Test(
            "a message on behalf of a participant is theirs: they have read it, and all receive it",
            arguments: ["1.0", "1.1", "2.0", "3.0"])
        func participant(_ version: String) async throws {
            let scene = try await Scene(version)
            let (anas, bens) = (try await scene.ana.open(), try await scene.ben.open())
            let header = ["If-None-Match": UUID().uuidString]
            let sent = try await scene.send("from the server", headers: header)
            #expect(sent.status == 201)
            let status: JSONValue =
                version < "2"
                ? ["ana": "read", "ben": "sent"]
                : ["layer:///identities/ana": "read", "layer:///identities/ben": "sent"]
            #expect(sent.json["recipient_status"] == status)
            #expect(sent.json["sender"]["user_id"].string == "ana")
            #expect(Set((sent.json["parts"][0].object ?? [:]).keys).contains("id") == (version >= "2"))
            for (socket, isUnread) in [(anas, false), (bens, true)] {
                let packet = try await socket.message("from the server")
                #expect(packet.data["sender"]["user_id"].string == "ana" && packet.data["is_unread"].bool == isUnread)
            }
            // A repetition with the same id in its header gets the same answer.
            let again = try await scene.send("from the server", headers: header)
            #expect(again.status == 201 && again.json == sent.json)
            let id = try #require(header["If-None-Match"]).lowercased()
            #expect(sent.json["id"].string == "layer:///messages/\(id)")

            let list = try await scene.server.call("GET", scene.path + "/messages")
            #expect(list.header("Layer-Count") == "1")
            let read = list.json[0]
            for path in [scene.path + "/messages/\(id)", "/messages/\(id)"] {
                #expect(try await scene.server.call("GET", path).json == read)
            }
            for key in ["receipts_url", "is_unread", "received_at", "notification"] { #expect(read[key] == .null) }
            #expect((read["position"] == .null) == (version < "2"))
            for json in [sent.json, read] {
                let path = try #require(json["url"].string?.components(separatedBy: scene.server.appID).last)
                #expect(try await scene.server.call("GET", path).json == read)
            }
        }

        @Test("a name sends in 1.x and is a sender without an id elsewhere; StrataKit and replays show the name")
        func name() async throws {
            let scene = try await Scene("1.0")
            let bens = try await scene.ben.open()
            let kit = try await KitUser.signIn("kit", to: scene.server.app, via: 1)
            #expect(
                try await scene.server
                    .call("PATCH", scene.path, [["operation": "add", "property": "participants", "value": "kit"]])
                    .status == 204)
            let sent = try await scene.send("Welcome", by: ["sender": ["name": "Concierge", "display_name": "x"]])
            #expect(sent.status == 201 && sent.json["sender"] == ["name": "Concierge"])
            #expect(sent.json["recipient_status"] == ["ana": "sent", "ben": "sent", "kit": "sent"])
            let uuid = try #require(
                sent.json["id"].string?.split(separator: "/").last.flatMap { UUID(uuidString: String($0)) })
            let received = try await kit.receives(MessageID(rawValue: uuid))
            #expect(received.sender.displayName == "Concierge" && received.sender.userID == nil && received.isUnread)
            let packet = try await bens.message("Welcome")
            let sender: JSONValue = [
                "id": .null, "url": .null, "user_id": .null, "display_name": "Concierge", "avatar_url": .null,
                "name": "Concierge",
            ]
            #expect(packet.data["sender"] == sender && packet.data["is_unread"] == true)
            #expect(try await scene.ben.does("GET", scene.path).json["last_message"]["sender"] == sender)
            var newer = scene.server
            newer.version = "3.0"
            #expect(try await newer.call("GET", scene.path + "/messages").json[0]["sender"] == sender)
            for wrong: JSONValue in [[:], ["name": "a", "user_id": "ana"], "ana", .null] {
                let answer = try await scene.send("x", by: ["sender": wrong])
                #expect(answer.status == 422 && answer.json["data"]["property"].string?.hasPrefix("sender") == true)
            }
            // Since version 2.0 a sender must be an identity.
            let refused = try await newer.call(
                "POST", scene.path + "/messages", TestUser.message("x").merging(["sender": ["name": "Concierge"]]))
            #expect(
                outcome(refused) == "422 missing_property" && refused.json["data"]["property"].string == "sender_id")
        }

        @Test(
            "a bot sends without being a participant; a non-participant may not, and a sender without an identity is unknown"
        )
        func bot() async throws {
            let scene = try await Scene()
            try await scene.bot("robo")
            let bens = try await scene.ben.open()
            let sent = try await scene.send("beep", by: ["sender_id": "layer:///identities/robo"])
            #expect(sent.status == 201 && sent.json["sender"]["display_name"].string == "Robo")
            let packet = try await bens.message("beep")
            #expect(packet.data["sender"]["user_id"].string == "robo" && packet.data["is_unread"] == true)
            _ = try await scene.server.app.signIn("cleo")
            #expect(outcome(try await scene.send("x", by: ["sender_id": "cleo"])) == "403 access_denied")
            for version in ["1.0", "3.0"] {
                var server = scene.server
                server.version = version
                let sender: [String: JSONValue] = version < "2" ? ["sender": ["user_id": "who"]] : ["sender_id": "who"]
                let answer = try await server.call(
                    "POST", scene.path + "/messages", TestUser.message("x").merging(sender))
                #expect(outcome(answer) == "422 invalid_property")
                #expect(answer.json["data"]["property"].string == (version < "2" ? "sender.user_id" : "sender_id"))
            }
        }

        @Test("an array of messages is sent in order, once, and its answer omits the messages")
        func batch() async throws {
            let scene = try await Scene()
            let header = ["If-None-Match": UUID().uuidString]
            let messages = JSONValue.array((0..<12).map { TestUser.message("\($0)").merging(scene.sender) })
            for _ in 0..<2 {
                let answer = try await scene.server.call("POST", scene.path + "/messages", messages, headers: header)
                #expect(answer.status == 202 && answer.body.isEmpty)
            }
            let list = try await scene.server.call("GET", scene.path + "/messages?page_size=5")
            #expect(list.header("Layer-Count") == "12")
            #expect(list.json.array?.map { $0["parts"][0]["body"].string } == ["11", "10", "9", "8", "7"])
            let last = try #require(list.json[4]["id"].string)
            let next = try await scene.server.call("GET", scene.path + "/messages?page_size=5&from_id=\(last)")
            #expect(next.json.array?.map { $0["parts"][0]["body"].string } == ["6", "5", "4", "3", "2"])
            #expect(next.header("Link")?.contains("/apps/\(scene.server.appID)\(scene.path)/messages?") == true)
            #expect(
                outcome(try await scene.server.call("GET", scene.path + "/messages?from_id=\(UUID().uuidString)"))
                    == "404 not_found")
            let many = JSONValue.array((0..<13).map { TestUser.message("\($0)").merging(scene.sender) })
            #expect(
                outcome(try await scene.server.call("POST", scene.path + "/messages", many)) == "422 invalid_property")
        }

        @Test("a message is deleted for all under both of its paths, and only below its own conversation")
        func delete() async throws {
            let scene = try await Scene()
            let other = try await scene.server.call(
                "POST", "/conversations", ["participants": ["ana"], "distinct": false])
            let bens = try await scene.ben.open()
            for path in ["\(scene.path)/messages", "/messages"] {
                let sent = try await scene.send("gone soon")
                let id = try #require(sent.json["id"].string)
                let uuid = String(layerPath(id).dropFirst("/messages/".count))
                _ = try await bens.change("create", "Message", id)
                let elsewhere = layerPath(try #require(other.json["id"].string)) + "/messages/" + uuid
                for method in ["GET", "DELETE"] {
                    #expect(try await scene.server.call(method, elsewhere).status == 404)
                }
                #expect(try await scene.server.call("DELETE", "\(path)/\(uuid)").status == 204)
                let packet = try await bens.change("delete", "Message", id)
                #expect(packet.data["mode"].string == "all_participants")
                for method in ["GET", "DELETE"] {
                    #expect(outcome(try await scene.server.call(method, "\(path)/\(uuid)")) == "404 not_found")
                }
            }
        }

        @Test("the server reads, adds, replaces and removes parts of every message, and clients are notified")
        func parts() async throws {
            let scene = try await Scene()
            let bens = try await scene.ben.open()
            let sent = try await scene.ana.does("POST", scene.path + "/messages", TestUser.message("one"))
            let id = try #require(sent.json["id"].string)
            let path = scene.path + layerPath(id) + "/parts"
            _ = try await bens.change("create", "Message", id)
            let added = try await scene.server.call("POST", path, ["mime_type": "text/plain", "body": "two"])
            #expect(
                added.status == 201 && added.json["body"] == "two"
                    && added.json["message_url"].string?.hasSuffix(layerPath(id)) == true)
            #expect(added.json["updated_at"] != .null)
            _ = try await bens.change("update", "Message", id) {
                $0.array?.contains { $0["property"].string == "parts" } == true
            }
            let part = try #require(added.json["url"].string?.components(separatedBy: scene.server.appID).last)
            #expect(try await scene.server.call("GET", part).json == added.json)
            let replaced = try await scene.server.call("PUT", part, ["mime_type": "text/html", "body": "<b>two</b>"])
            #expect(
                replaced.status == 200 && replaced.json["id"] == added.json["id"]
                    && replaced.json["mime_type"] == "text/html")
            let all = try await scene.server.call("GET", path)
            #expect(all.json.array?.map { $0["body"].string } == ["one", "<b>two</b>"])
            #expect(try await scene.server.call("DELETE", part).status == 204)
            #expect(outcome(try await scene.server.call("GET", part)) == "404 not_found")
            let single = try await scene.server.call("PUT", path, [["mime_type": "text/plain", "body": "all new"]])
            #expect(single.status == 200 && single.json.array?.count == 1)
            let last = try #require(single.json[0]["url"].string?.components(separatedBy: scene.server.appID).last)
            #expect(outcome(try await scene.server.call("DELETE", last)) == "422 invalid_operation")
            #expect(try await scene.ben.does("GET", layerPath(id)).json["parts"][0]["body"] == "all new")
            let read = try await scene.server.call("GET", scene.path + layerPath(id)).json
            #expect(read["updated_at"] != .null)
            for key in ["sent_at", "position"] { #expect(read[key] == sent.json[key]) }
        }

        @Test("content is uploaded for a conversation, usable only there, and readable by its description")
        func content() async throws {
            let scene = try await Scene()
            let bytes = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })
            let announced = ["Upload-Content-Type": "image/png", "Upload-Content-Length": "\(bytes.count)"]
            let created = try await scene.server.call("POST", scene.path + "/content", [:], headers: announced)
            #expect(created.status == 201 && created.header("Location") == created.json["upload_url"].string)
            for key in ["download_url", "refresh_url", "expiration"] { #expect(created.json[key] == .null) }
            let id = try #require(created.json["id"].string)
            let path = scene.path + layerPath(id)
            #expect(outcome(try await scene.server.call("GET", path)) == "404 not_found")
            func send(to path: String, size: Int64 = 5000) async throws -> RESTResponse {
                let part: JSONValue = [
                    "mime_type": "image/png", "content": ["id": .string(id), "size": .integer(size)],
                ]
                return try await scene.server.call(
                    "POST", path + "/messages", JSONValue.object(["parts": [part]]).merging(scene.sender))
            }
            #expect(outcome(try await send(to: scene.path)) == "422 invalid_property")
            let uploadURL = try #require(created.json["upload_url"].string)
            let upload = try await Cluster.shared().put(bytes, to: uploadURL, via: 0)
            #expect(upload.isSuccess)
            let other = try await scene.server.call(
                "POST", "/conversations", ["participants": ["ana"], "distinct": false])
            let elsewhere = layerPath(try #require(other.json["id"].string))
            #expect(outcome(try await send(to: elsewhere)) == "422 invalid_property")
            let smaller = try await send(to: scene.path, size: 4999)
            #expect(
                outcome(smaller) == "422 invalid_property"
                    && smaller.json["data"]["property"].string == "parts.0.content")
            let sent = try await send(to: scene.path)
            #expect(sent.status == 201 && sent.json["parts"][0]["content"]["size"] == 5000)
            let refresh = try #require(
                sent.json["parts"][0]["content"]["refresh_url"].string?.components(separatedBy: scene.server.appID).last
            )
            #expect(refresh == path)
            #expect(try await scene.server.call("GET", refresh).json["download_url"].string != nil)
            #expect(try await scene.ben.does("GET", layerPath(id)).json["size"] == 5000)
            let missing = try await scene.server.call(
                "POST", scene.path + "/content", headers: ["Upload-Content-Type": "image/png"])
            #expect(
                outcome(missing) == "406 invalid_header"
                    && missing.json["data"]["header"].string == "Upload-Content-Length")
        }

        @Test("a delayed message is absent before its delay, and arrives after its sender was shown as typing")
        func delayed() async throws {
            let scene = try await Scene()
            let bens = try await scene.ben.open()
            _ = try await scene.send("before")
            _ = try await bens.message("before")
            let schedule: JSONValue = ["delay_in_seconds": 6.0, "typing_indicator_in_seconds": 4.0]
            let header = ["If-None-Match": UUID().uuidString]
            for _ in 0..<2 {
                let answer = try await scene.server.call(
                    "POST", scene.path + "/messages",
                    TestUser.message("later").merging(scene.sender).merging(["schedule": schedule]), headers: header
                )
                #expect(answer.status == 202 && answer.body.isEmpty)
            }
            #expect(try await scene.server.call("GET", scene.path + "/messages").header("Layer-Count") == "1")
            let conversation = try #require(
                scene.path.split(separator: "/").last.map { "layer:///conversations/\($0)" })
            let typing = try await bens.nextPacket("typing", deadline: Waiting.deadline) {
                $0.isTyping("started", conversation: conversation)
            }
            let message = try await bens.message("later")
            #expect(typing.index < message.index && message.data["sender"]["user_id"].string == "ana")
            _ = try await bens.nextPacket("end of typing", deadline: Waiting.deadline) {
                $0.isTyping("finished", conversation: conversation)
            }
            #expect(try await scene.server.call("GET", scene.path + "/messages").header("Layer-Count") == "2")
            let wrong = try await scene.server.call(
                "POST", scene.path + "/messages",
                TestUser.message("x").merging(scene.sender).merging(["schedule": ["delay_in_seconds": 301]]))
            #expect(
                outcome(wrong) == "422 invalid_property"
                    && wrong.json["data"]["property"].string == "schedule.delay_in_seconds")
        }
    }
}
