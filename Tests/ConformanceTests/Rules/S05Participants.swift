// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 5.5 and 5.6: participants and metadata.
extension S05 {
    // MARK: 5.5

    static let participants: [Rule] = [
        Rule("5.5", "participants are added and removed by id: 204") { f in
            let users = try await f.users("ana", "ben", "cleo")
            let id = try await users[0].converse(users[1])
            f.succeeded(try await users[0].call("PATCH", Layer.path(id), [remove(users[1]), add(users[2])]), 204)
            f.equal(try await users[0].load(id)["participants"].userIDs, [users[0].userID, users[2].userID])
        },
        Rule("5.5", "set replaces the participants", .doc) { f in
            let users = try await f.users("ana", "ben", "cleo")
            let id = try await users[0].converse(users[1])
            try await users[0].patch(id, set("participants", [.string(users[0].id), .string(users[2].id)]))
            f.equal(try await users[0].load(id)["participants"].userIDs, [users[0].userID, users[2].userID])
        },
        Rule("5.5", "adding who is there and removing who is not is 204 without effect") { f in
            let users = try await f.users("ana", "ben", "cleo")
            let id = try await users[0].converse([users[1].id], distinct: true)
            f.succeeded(try await users[0].call("PATCH", Layer.path(id), [add(users[1]), remove(users[2])]), 204)
            let object = try await users[0].load(id)
            f.equal(object["participants"].userIDs, [users[0].userID, users[1].userID])
            f.equal(object["distinct"], true)
        },
        Rule("5.5", "a result over the limit is 422 participants, and nothing is applied") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse((0..<249).map { Layer.identity("p\($0).\(f.mark)") })
            let add: JSONValue = [
                "operation": "add", "property": "participants", "id": .string(Layer.identity("more.\(f.mark)")),
            ]
            let answer = try await ana.call("PATCH", Layer.path(id), [set("metadata.a", "1"), add])
            f.refused(answer, "invalid_property", property: "participants")
            let object = try await ana.load(id)
            f.equal(object["participants"].ids.count, 250)
            f.equal(object["metadata"], [:])
        },
        Rule("5.5", "one may remove oneself") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            f.succeeded(try await users[1].call("PATCH", Layer.path(id), [remove(users[1])]), 204)
            f.equal(try await users[0].load(id)["participants"].userIDs, [users[0].userID])
            f.equal(try await users[1].load(id)["participants"], [])
        },
        Rule("5.5", "a change of the participants makes the conversation not distinct") { f in
            let users = try await f.users("ana", "ben", "cleo")
            let id = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].patch(id, add(users[2]))
            f.equal(try await users[0].load(id)["distinct"], false)
        },
        Rule("5.5", "a user who is added sees the whole history, read") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            let message = try await users[0].sendID("before", to: id)
            try await users[0].patch(id, add(users[1]))
            let object = try await users[1].load(id)
            f.equal(object["total_message_count"], 1)
            f.equal(object["unread_message_count"], 0)
            let list = try await users[1].get(Layer.path(id) + "/messages")
            f.equal(list.ids, [message])
            f.equal(list[0]["is_unread"], false)
            f.equal(list[0]["recipient_status"][users[1].id], "read")
        },
        Rule("5.5", "a user who is removed keeps what came before and sees nothing later", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let before = try await users[0].sendID("before", to: id)
            try await users[0].patch(id, remove(users[1]))
            let after = try await users[0].sendID("after", to: id)
            f.equal(try await users[1].get(Layer.path(id) + "/messages").ids, [before])
            f.succeeded(try await users[1].call("GET", Layer.path(before)), 200)
            f.refused(try await users[1].call("GET", Layer.path(after)), "not_found")
        },
        Rule("5.5", "a user who is added again sees everything", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for (text, operation) in [("1", remove(users[1])), ("2", add(users[1]))] {
                try await users[0].send(text, to: id)
                try await users[0].patch(id, operation)
            }
            f.equal(try await users[1].get(Layer.path(id) + "/messages").ids.count, 2)
            f.equal(try await users[1].load(id)["participants"].ids.count, 2)
        },
        Rule("5.5", "a user who is added again has read everything before, as they and as others see it", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for operation in [remove(users[1]), add(users[1])] {
                try await users[0].send("unread", to: id)
                try await users[0].patch(id, operation)
            }
            f.equal(try await users[1].load(id)["unread_message_count"], 0)
            for user in users {
                let messages = try await user.get(Layer.path(id) + "/messages").array ?? []
                f.equal(messages.map { $0["recipient_status"][users[1].id] }, ["read", "read"])
            }
            f.equal(
                (try await users[1].get(Layer.path(id) + "/messages").array ?? []).map { $0["is_unread"] },
                [false, false])
            try await users[0].send("new", to: id)
            f.equal(try await users[1].load(id)["unread_message_count"], 1)
        },
        Rule("5.5", "the counts of who was removed are those of their messages", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            var messages: [String] = []
            for text in ["1", "2", "3"] { messages.append(try await users[0].sendID(text, to: id)) }
            try await users[1].receipt("read", messages[1])
            try await users[0].patch(id, remove(users[1]))
            try await users[0].send("later", to: id)
            let object = try await users[1].load(id)
            f.equal([object["unread_message_count"].int, object["total_message_count"].int], [2, 3])
            let list = try await users[1].get(Layer.path(id) + "/messages").array ?? []
            f.equal(list.map { $0["is_unread"] }, [true, false, true])
            f.equal(list.map { $0["recipient_status"][users[1].id] == "read" }, [false, true, false])
        },
        Rule("5.5", "an operation without an id, or with a bad one, is refused and nothing is applied") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            for operation: JSONValue in [
                ["operation": "add", "property": "participants"],
                ["operation": "add", "property": "participants", "id": 5],
                ["operation": "add", "property": "participants", "id": "layer:///messages/x"],
            ] {
                let answer = try await users[0].call("PATCH", Layer.path(id), [add(users[1]), operation])
                f.check(answer.status == 422 || answer.status == 400, "\(operation): \(answer.status)")
            }
            f.equal(try await users[0].load(id)["participants"].ids, [users[0].id])
        },
    ]

    // MARK: 5.6

    /// A rule on the result of patching metadata.
    private static func patching(
        _ text: String, from start: JSONValue, _ operations: JSONValue, gives result: JSONValue
    ) -> Rule {
        Rule("5.6", text) { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([], metadata: start)
            f.succeeded(try await ana.call("PATCH", Layer.path(id), operations), 204)
            f.equal(try await ana.load(id)["metadata"], result)
        }
    }

    static let metadataPatches: [Rule] = [
        patching("a key is set", from: ["a": "1"], [set("metadata.b", "2")], gives: ["a": "1", "b": "2"]),
        patching("a key is replaced", from: ["a": "1"], [set("metadata.a", "2")], gives: ["a": "2"]),
        patching(
            "missing objects on the way are made", from: [:], [set("metadata.a.b.c", "1")],
            gives: ["a": ["b": ["c": "1"]]]),
        patching("a key is deleted", from: ["a": "1", "b": "2"], [delete("metadata.a")], gives: ["b": "2"]),
        patching(
            "deleting a missing key does nothing", from: ["a": "1"], [delete("metadata.x"), delete("metadata.x.y")],
            gives: ["a": "1"]),
        patching(
            "set metadata replaces everything", from: ["a": "1", "b": ["c": "2"]], [set("metadata", ["d": "3"])],
            gives: ["d": "3"]),
        patching(
            "an object may be set", from: ["a": ["b": "1"]], [set("metadata.a", ["c": "2"])], gives: ["a": ["c": "2"]]),
        patching(
            "a subtree may be deleted", from: ["a": ["b": "1", "c": "2"], "d": "3"], [delete("metadata.a")],
            gives: ["d": "3"]),
        patching(
            "operations are executed in order", from: [:],
            [set("metadata.a", "1"), delete("metadata.a"), set("metadata.a", "2")],
            gives: ["a": "2"]),
        Rule("5.6", "participants and metadata may be patched in one request") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            try await users[0].patch(id, add(users[1]), set("metadata.a", "1"))
            let object = try await users[0].load(id)
            f.equal(object["participants"].ids.count, 2)
            f.equal(object["metadata"], ["a": "1"])
        },
        Rule("5.6", "one bad operation and nothing is applied") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            let answer = try await users[0]
                .call("PATCH", Layer.path(id), [add(users[1]), set("metadata.a", "1"), set("metadata.b", 5)])
            f.refused(answer, "invalid_property", property: "metadata.b")
            let object = try await users[0].load(id)
            f.equal(object["participants"].ids, [users[0].id])
            f.equal(object["metadata"], [:])
        },
        Rule("5.6", "any other property is 422 with its name") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            for property in ["distinct", "unread_message_count", "last_message", "created_at", "colour", "id"] {
                f.refused(
                    try await ana.call("PATCH", Layer.path(id), [set(property, "x")]), "invalid_property",
                    property: property)
            }
        },
        Rule("5.6", "a conversation that is not there is 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            for path in [Layer.path(id), "/conversations/\(Layer.uuid())"] {
                f.refused(try await users[1].call("PATCH", path, [set("metadata.a", "1")]), "not_found")
            }
        },
        Rule("5.6", "a former participant is 403 access_denied") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].patch(id, remove(users[1]))
            f.refused(try await users[1].call("PATCH", Layer.path(id), [set("metadata.a", "1")]), "access_denied")
            f.refused(try await users[1].call("PATCH", Layer.path(id), [add(users[1])]), "access_denied")
        },
        Rule("5.6", "a body that is no array of operations is 400 invalid_request") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            for body: JSONValue in [set("metadata.a", "1"), ["x"], [[]], "x"] {
                f.refused(try await ana.call("PATCH", Layer.path(id), body), "invalid_request")
            }
        },
    ]
}
