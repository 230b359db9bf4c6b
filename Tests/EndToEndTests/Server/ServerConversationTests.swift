// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("conversations of an app's own server")
    struct ServerConversationTests {
        private func outcome(_ answer: RESTResponse) -> String { "\(answer.status) \(answer.errorID ?? "")" }

        @Test(
            "a new conversation is visible to its participants at once, in each version's form",
            arguments: ["1.0", "1.1", "2.0", "3.0"])
        func create(_ version: String) async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            let (anas, bens) = (try await ana.open(), try await ben.open())
            var server = AppServer(app)
            server.version = version
            let named: JSONValue =
                version < "2"
                ? ["ana", "ben", "never seen"] : [.string(ana.identity), "ben", "layer:///identities/never%20seen"]
            let created = try await server.call(
                "POST", "/conversations",
                ["participants": named, "distinct": false, "metadata": ["title": "Lunch"], "significance": .null])
            #expect(created.status == 201)
            let id = try #require(created.json["id"].string)
            let path = layerPath(id)
            #expect(created.json["url"].string?.hasSuffix("/apps/\(server.appID)\(path)") == true)
            #expect(created.json["messages_url"].string?.hasSuffix(path + "/messages") == true)
            #expect(created.json["metadata"] == ["title": "Lunch"] && created.json["distinct"] == false)
            #expect(Set((created.json.object ?? [:]).keys).isDisjoint(with: ["last_message", "unread_message_count"]))
            let participants = try #require(created.json["participants"].array)
            if version < "2" {
                #expect(Set(participants.compactMap(\.string)) == ["ana", "ben", "never seen"])
            } else {
                #expect(Set(participants.compactMap { $0["user_id"].string }) == ["ana", "ben", "never seen"])
                #expect(participants.allSatisfy { $0["url"].string?.hasSuffix("/identity") == true })
            }
            for socket in [anas, bens] {
                let packet = try await socket.change("create", "Conversation", id)
                #expect(packet.data["metadata"] == ["title": "Lunch"] && packet.data["last_message"] == .null)
            }
            #expect(try await server.call("GET", path).json == created.json)
            // Only a request with `If-None-Match` can be a repetition.
            let uuid = UUID().uuidString
            let header = ["If-None-Match": "\"\(uuid)\""]
            let first = try await server.call(
                "POST", "/conversations", ["participants": named, "distinct": false], headers: header)
            let second = try await server.call(
                "POST", "/conversations", ["participants": named, "distinct": false], headers: header)
            #expect(first.status == 201 && second.status == 201 && first.json == second.json)
            #expect(first.json["id"].string == "layer:///conversations/\(uuid.lowercased())")
            let wrong = try await server.call(
                "POST", "/conversations", ["participants": named], headers: ["If-None-Match": "once"])
            #expect(outcome(wrong) == "400 invalid_request_id" && wrong.json["code"] == 3)
        }

        @Test("a distinct conversation is found again; other metadata is a conflict", arguments: ["1.0", "3.0"])
        func distinct(_ version: String) async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            var server = AppServer(app)
            server.version = version
            let body: JSONValue = ["participants": ["ana", "ben"], "metadata": ["a": "1"]]
            let created = try await server.call("POST", "/conversations", body)
            #expect(created.status == 201 && created.json["distinct"] == true)
            for metadata: JSONValue in [["a": "1"], .null] {
                let found = try await server.call(
                    "POST", "/conversations", ["participants": ["ben", "ana", "ben"], "metadata": metadata])
                #expect(found.status == 200 && found.json == created.json)
            }
            let refused = try await server.call(
                "POST", "/conversations", ["participants": ["ana", "ben"], "metadata": ["a": "2"]])
            #expect(
                outcome(refused) == "409 conflict" && refused.json["code"] == 108
                    && refused.json["data"] == created.json)
            let own = try await ana.does("POST", "/conversations", ["participants": ["layer:///identities/ben"]])
            #expect(own.json["id"] == created.json["id"])
        }

        @Test("request errors are named, in the order of the checks")
        func refusals() async throws {
            let app = try await Cluster.shared().app()
            let server = AppServer(app)
            let unknown = "/conversations/\(UUID().uuidString)"
            let cases: [(String, String, JSONValue?, String, String?)] = [
                ("POST", "/conversations", [:], "422 missing_property", "participants"),
                ("POST", "/conversations", ["participants": []], "422 invalid_property", "participants"),
                ("POST", "/conversations", ["participants": "ana"], "422 invalid_property", "participants"),
                ("POST", "/conversations", [], "422 missing_property", "participants"),
                ("POST", "/conversations", [1], "400 invalid_request", nil),
                (
                    "POST", "/conversations", ["participants": ["ana"], "metadata": ["a": 5]], "422 invalid_property",
                    "metadata.a"
                ),
                ("GET", unknown, nil, "404 not_found", nil), ("GET", "/conversations/x", nil, "404 not_found", nil),
                ("DELETE", unknown, nil, "404 not_found", nil), ("PATCH", unknown, [], "404 not_found", nil),
                ("POST", unknown + "/messages", [:], "422 missing_property", "sender_id"),
                ("POST", unknown + "/messages", ["sender_id": "ana"], "422 missing_property", "parts"),
                (
                    "POST", unknown + "/messages", TestUser.message("x").merging(["sender_id": "ana"]), "404 not_found",
                    nil
                ),
                ("GET", unknown + "/messages", nil, "404 not_found", nil),
                ("PUT", "/conversations", nil, "405 method_not_allowed", nil),
                ("POST", unknown + "/content", nil, "406 invalid_header", nil),
            ]
            for (method, path, body, expected, property) in cases {
                let type = method == "PATCH" ? ["Content-Type": "application/vnd.layer-patch+json"] : [:]
                let answer = try await server.call(method, path, body, headers: type)
                #expect(outcome(answer) == expected, "\(method) \(path) \(answer.json)")
                if let property { #expect(answer.json["data"]["property"].string == property) }
                #expect(answer.json["url"].string?.contains("/docs/errors") == true)
            }
        }

        @Test("one patch changes participants and metadata, in each version's spelling, and members are notified")
        func patch() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            var server = AppServer(app)
            let (anas, bens) = (try await ana.open(), try await ben.open())
            let created = try await server.call("POST", "/conversations", ["participants": ["ana", "cleo"]])
            let id = try #require(created.json["id"].string)
            let path = layerPath(id)
            // A socket's first view of a conversation may already include the changes made right afterwards.
            _ = try await anas.change("create", "Conversation", id)
            let first = try await server.call(
                "PATCH", path,
                [
                    ["operation": "add", "property": "participants", "id": "layer:///identities/ben"],
                    ["operation": "remove", "property": "participants", "value": "layer:///identities/cleo"],
                    set("metadata.a.b", "1"),
                ])
            #expect(first.status == 204 && first.body.isEmpty)
            let told = try await bens.change("create", "Conversation", id)
            #expect(Set((told.data["participants"].array ?? []).compactMap { $0["user_id"].string }) == ["ana", "ben"])
            _ = try await anas.change("update", "Conversation", id) {
                $0.array?.contains { $0["property"].string == "metadata.a.b" } == true
            }
            server.version = "1.0"
            let second = try await server.call(
                "POST", path,
                [
                    ["operation": "set", "property": "participants", "value": ["ana", "ben", "50%"]],
                    set("metadata", ["c": "2"]),
                ],
                headers: ["X-HTTP-Method-Override": "PATCH", "If-None-Match": UUID().uuidString])
            #expect(second.status == 204)
            let now = try await server.call("GET", path).json
            #expect(Set((now["participants"].array ?? []).compactMap(\.string)) == ["ana", "ben", "50%"])
            #expect(now["metadata"] == ["c": "2"] && now["distinct"] == false)
            #expect(try await server.call("PATCH", path, []).status == 204)
            let wrong: [(JSONValue, String, String)] = [
                (
                    [["operation": "set", "property": "participants", "value": []]], "422 invalid_property",
                    "participants"
                ),
                ([["operation": "rename", "property": "metadata.a"]], "422 invalid_operation", "0.operation"),
                ([["operation": "set", "property": "distinct", "value": true]], "422 invalid_property", "distinct"),
                (
                    [set("metadata.x", "1"), ["operation": "delete", "property": "participants"]],
                    "422 invalid_property", "participants"
                ),
            ]
            for (body, expected, property) in wrong {
                let answer = try await server.call("PATCH", path, body)
                #expect(outcome(answer) == expected && answer.json["data"]["property"].string == property)
            }
            #expect(try await server.call("GET", path).json == now)
        }

        @Test(
            "a deletion applies to all and is repeatable; a deleted conversation is gone, and an unknown one is not found"
        )
        func delete() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let anas = try await ana.open()
            let server = AppServer(app)
            let created = try await server.call("POST", "/conversations", ["participants": ["ana", "ben"]])
            let path = layerPath(try #require(created.json["id"].string))
            _ = try await anas.change("create", "Conversation")
            #expect(try await server.call("DELETE", path + "?mode=my_devices").status == 204)
            let packet = try await anas.change("delete", "Conversation", created.json["id"].string)
            #expect(packet.data["mode"].string == "all_participants")
            #expect(try await server.call("DELETE", path).status == 204)
            let asked: [(String, String, JSONValue?)] = [
                ("GET", path, nil), ("GET", path + "/messages", nil), ("PATCH", path, [set("metadata.a", "1")]),
                ("PATCH", path, []),
                ("POST", path + "/messages", TestUser.message("x").merging(["sender_id": "ana"])),
            ]
            for (method, path, body) in asked {
                let type = method == "PATCH" ? ["Content-Type": "application/vnd.layer-patch+json"] : [:]
                let answer = try await server.call(method, path, body, headers: type)
                #expect(outcome(answer) == "410 object_deleted" && answer.json["code"] == 103, "\(method) \(path)")
            }
            #expect(outcome(try await server.call("POST", path + "/messages", [:])) == "422 missing_property")
        }

        @Test("on behalf of a user, 1.x has separate objects, and a read of all is sent with the position")
        func onBehalf() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn(["ana", "ben"])
            var server = AppServer(app)
            server.version = "1.0"
            let created = try await server.call("POST", "/conversations", ["participants": ["ana", "ben"]])
            let path = layerPath(try #require(created.json["id"].string))
            let sent = try await server.call(
                "POST", path + "/messages", TestUser.message("hi").merging(["sender": ["name": "Concierge"]]))
            #expect(sent.status == 201)
            let list = try await server.does("GET", as: "ana", "/conversations")
            #expect(list.header("Layer-Count") == "1")
            let seen = list.json[0]
            let single = try await server.does("GET", as: "ana", path).json
            #expect(seen == single)
            #expect(seen["participants"] == ["ana", "ben"] && seen["unread_message_count"] == 1)
            #expect(seen["url"].string?.hasSuffix("/apps/\(server.appID)/users/ana\(path)") == true)
            let message = seen["last_message"]
            #expect(message["sender"] == ["user_id": .null, "name": "Concierge"] && message["is_unread"] == true)
            #expect(message["recipient_status"] == ["ana": "sent", "ben": "sent"] && message["position"] == .null)
            for key in ["url", "receipts_url"] { #expect(message[key].string?.contains("/users/ana/") == true) }
            let messagePath = try #require(message["url"].string?.components(separatedBy: "/users/ana").last)
            #expect(try await server.does("GET", as: "ana", messagePath).json == message)
            #expect(try await server.does("GET", as: "ana", path + "/messages").json == [message])

            let read = try await server.call("POST", "/users/ana\(path)/mark_all_read", ["position": .null])
            let position = try #require(read.json["position"].int)
            #expect(read.status == 202 && position > 0)
            #expect(try await server.does("GET", as: "ana", path).json["unread_message_count"] == 0)
            let again = try await server.call("POST", "/users/ana\(path)/mark_all_read")
            #expect(again.status == 202 && (again.json["position"].int ?? 0) >= position)
            #expect(
                try await server.call("GET", path + "/messages").json[0]["recipient_status"] == [
                    "ana": "read", "ben": "sent",
                ])
            #expect(try await server.call("DELETE", "/users/ben\(messagePath)?mode=my_devices").status == 204)
            #expect(try await server.call("GET", "/users/ben\(messagePath)").status == 404)
        }
    }
}

extension JSONValue {
    func merging(_ other: [String: JSONValue]) -> JSONValue { .object((object ?? [:]).merging(other) { $1 }) }
}
