// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules for conversations in the name of the server and on behalf of users.
enum SRConversations {
    static let rules: [ServerRule] = creating + reading + changing

    private static let creating: [ServerRule] = [
        ServerRule(
            40,
            "a conversation is created for its participants only, whether they have been heard of or not: 201 with it"
        ) { f in
            let conversation = try await f.converse("ana", "ben", metadata: ["a": ["b": "1"]])
            f.equal(f.ids(conversation["participants"]), [f.user("ana"), f.user("ben")])
            f.equal(conversation["metadata"], ["a": ["b": "1"]])
            f.equal(conversation["distinct"], false)
            let alone = try await f.converse("ana")
            f.equal(f.ids(alone["participants"]), [f.user("ana")])
        },
        ServerRule(
            40,
            "distinct is the default: the same participants get 200 and what they have, other metadata 409 conflict with it"
        ) { f in
            let people: JSONValue = [
                "participants": [f.reference(f.user("ana")), f.reference(f.user("ben")), f.reference(f.user("ben"))]
            ]
            var body = people
            body["metadata"] = ["a": "1"]
            let first = try await f.does("POST", "/conversations", body, status: 201)
            f.equal(first["distinct"], true)
            f.equal(try await f.does("POST", "/conversations", people, status: 200)["id"], first["id"])
            f.equal(try await f.does("POST", "/conversations", body, status: 200)["id"], first["id"])
            body["metadata"] = ["a": "2"]
            let conflict = try await f.call("POST", "/conversations", body)
            f.equal("\(conflict.status) \(conflict.errorID ?? "")", "409 conflict")
            f.equal(conflict.json["data"]["id"], first["id"])
        },
        ServerRule(40, "without participants, with none or with more than are allowed it is 422 participants") { f in
            f.refused(try await f.call("POST", "/conversations", [:]), "missing_property", property: "participants")
            f.refused(
                try await f.call("POST", "/conversations", ["participants": []]), "invalid_property",
                property: "participants")
            let many = (0...250).map { f.reference("p\($0).\(f.mark)") }
            f.refused(
                try await f.call("POST", "/conversations", ["participants": .array(many)]), "invalid_property",
                property: "participants")
        },
        ServerRule(40, "the participants' devices are told of it at once, metadata and all") { f in
            let ana = try await f.users.user("ana")
            let socket = try await ana.socket()
            let conversation = try await f.converse("ana", "ben", metadata: ["a": "1"])
            let packet = try await socket.change("create", "Conversation", conversation["id"].string)
            f.equal(packet.data["metadata"], ["a": "1"])
        },
    ]

    private static let reading: [ServerRule] = [
        ServerRule(41, "every conversation of the app can be read; an unknown one is 404, a deleted one 410") { f in
            let conversation = try await f.converse("ana", "ben")
            let read = try await f.does("GET", f.path(conversation))
            f.equal(read["id"], conversation["id"])
            f.check(
                read.object?["last_message"] == nil && read.object?["unread_message_count"] == nil,
                "members of a user's view")
            f.refused(try await f.call("GET", "/conversations/\(Layer.uuid())"), "not_found")
            try await f.does("DELETE", f.path(conversation), status: 204)
            f.refused(try await f.call("GET", f.path(conversation)), "object_deleted")
        },
        ServerRule(
            42, "a user's conversations are listed as the user sees them, the newest first, or by the last message"
        ) { f in
            try await f.identify("ana")
            let first = try await f.converse("ana", "ben")
            let second = try await f.converse("ana", "ben")
            _ = try await f.converse("ana")
            _ = try await f.send("hello", from: "ana", to: first)
            let path = "/users/\(f.user("ben"))/conversations"
            let list = try await f.call("GET", path)
            f.equal(list.json.ids, [second["id"].string ?? "", first["id"].string ?? ""])
            f.equal(list.header("Layer-Count"), "2")
            f.equal(try await f.does("GET", path + "?sort_by=last_message").ids.first, first["id"].string)
            f.equal(list.json[1]["unread_message_count"].int, 1)
            f.equal(list.json[1]["last_message"]["parts"][0]["body"].string, "hello")
            f.check(list.json[0]["url"].string?.contains("/users/\(f.user("ben"))/") == true, "\(list.json[0]["url"])")
        },
        ServerRule(42, "the list of a user who was never heard of is 404") { f in
            f.refused(try await f.call("GET", "/users/\(f.user("nobody"))/conversations"), "not_found")
        },
        ServerRule(
            42, "conversations that the user has left do not appear on the user's list",
            except:
                "they stay until the user deletes them, as in the Client API, and their participants are empty: pages and counts without them would take "
                + "one more index of every user's conversations, which each change of participants writes."
        ),
        ServerRule(43, "one conversation is read as a user sees it; for a stranger to it it is 404") { f in
            try await f.identify("ana", "cleo")
            let conversation = try await f.converse("ana", "ben")
            _ = try await f.send("hello", from: "ana", to: conversation)
            let read = try await f.does("GET", "/users/\(f.user("ben"))\(f.path(conversation))")
            f.equal(read["unread_message_count"].int, 1)
            f.refused(try await f.call("GET", "/users/\(f.user("cleo"))\(f.path(conversation))"), "not_found")
        },
        ServerRule(
            43, "a conversation that the user has left is 404",
            except:
                "it stays until the user deletes it, as on the user's list (SRV-42) and in the Client API, and its participants are empty."
        ),
    ]

    private static let changing: [ServerRule] = [
        ServerRule(
            44,
            "participants are added, removed and set, by value or by id, several at once; what has no effect succeeds"
        ) { f in
            let conversation = try await f.converse("ana", "ben")
            func operation(_ kind: String, _ name: String) -> JSONValue {
                [
                    "operation": .string(kind), "property": "participants",
                    f.isOld ? "value" : "id": f.reference(f.user(name)),
                ]
            }
            try await f.does(
                "PATCH", f.path(conversation),
                [operation("add", "cleo"), operation("add", "ana"), operation("remove", "dora")], status: 204)
            f.equal(
                f.ids(try await f.does("GET", f.path(conversation))["participants"]),
                [f.user("ana"), f.user("ben"), f.user("cleo")])
            let value: JSONValue = [
                "operation": "remove", "property": "participants", "value": f.reference(f.user("ben")),
            ]
            try await f.does("PATCH", f.path(conversation), [value], status: 204)
            let set: JSONValue = [
                "operation": "set", "property": "participants",
                "value": [f.reference(f.user("dora")), f.reference(f.user("eve"))],
            ]
            try await f.does("PATCH", f.path(conversation), [set], status: 204)
            f.equal(
                f.ids(try await f.does("GET", f.path(conversation))["participants"]), [f.user("dora"), f.user("eve")])
        },
        ServerRule(44, "a change of participants ends distinct; one that would leave none is 422, and changes nothing")
        { f in
            let conversation = try await f.converse("ana", "ben", distinct: true)
            let all: JSONValue = ["operation": "set", "property": "participants", "value": []]
            f.check(
                try await f.call("PATCH", f.path(conversation), [all]).status == 422,
                "a conversation was left without participants")
            f.equal(try await f.does("GET", f.path(conversation))["distinct"], true)
            let add: JSONValue = ["operation": "add", "property": "participants", "value": f.reference(f.user("cleo"))]
            try await f.does("PATCH", f.path(conversation), [add], status: 204)
            f.equal(try await f.does("GET", f.path(conversation))["distinct"], false)
        },
        ServerRule(45, "metadata is set key by key, set as a whole, and deleted; a value that is no string is 422") {
            f in
            let conversation = try await f.converse("ana", "ben", metadata: ["a": "1", "z": "1"])
            func patched(_ operations: JSONValue...) async throws -> JSONValue {
                try await f.does("PATCH", f.path(conversation), .array(operations), status: 204)
                return try await f.does("GET", f.path(conversation))["metadata"]
            }
            let set: JSONValue = ["operation": "set", "property": "metadata.b.c", "value": "2"]
            f.equal(
                try await patched(set, ["operation": "delete", "property": "metadata.z"]), ["a": "1", "b": ["c": "2"]])
            f.equal(
                try await patched(["operation": "set", "property": "metadata", "value": ["d": ["e": "3"]]]),
                ["d": ["e": "3"]])
            let number: JSONValue = [["operation": "set", "property": "metadata.d.e", "value": 4]]
            f.refused(
                try await f.call("PATCH", f.path(conversation), number), "invalid_property", property: "metadata.d.e")
        },
        ServerRule(45, "the participants' devices are told of the effect") { f in
            let ana = try await f.users.user("ana")
            let conversation = try await f.converse("ana", "ben")
            let socket = try await ana.socket()
            try await socket.change("create", "Conversation", conversation["id"].string)
            try await f.does(
                "PATCH", f.path(conversation), [["operation": "set", "property": "metadata.a", "value": "1"]])
            try await socket.change("update", "Conversation", conversation["id"].string) {
                $0.has("set", "metadata.a", value: "1")
            }
        },
        ServerRule(46, "a conversation is deleted for all, and may be deleted again: 204; an unknown one is 404") { f in
            let ana = try await f.users.user("ana")
            let conversation = try await f.converse("ana", "ben")
            let socket = try await ana.socket()
            try await socket.change("create", "Conversation", conversation["id"].string)
            try await f.does("DELETE", f.path(conversation), status: 204)
            let packet = try await socket.change("delete", "Conversation", conversation["id"].string)
            f.equal(packet.data["mode"].string, "all_participants")
            try await f.does("DELETE", f.path(conversation), status: 204)
            f.refused(try await f.call("DELETE", "/conversations/\(Layer.uuid())"), "not_found")
        },
        ServerRule(
            47, "all is marked as read for a user, up to a position or up to the newest: 202 with the position reached",
            [.v2, .v3]
        ) { f in
            try await f.identify("ana")
            let conversation = try await f.converse("ana", "ben")
            let message = try await f.send("hello", from: "ana", to: conversation)
            let path = "/users/\(f.user("ben"))\(f.path(conversation))/mark_all_read"
            let answer = try await f.does("POST", path, ["position": .null], status: 202)
            f.check((answer["position"].int ?? 0) > 0, "\(answer)")
            f.equal(f.status(try await f.does("GET", f.path(message, in: conversation)), f.user("ben")), "read")
            try await f.does("POST", path, [:], status: 202)
        },
    ]
}
