// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 5.4: creating conversations.
extension S05 {
    // MARK: 5.4

    /// Expects the same refusal over REST and over a socket.
    private static func refusedBoth(
        _ f: Fixture, _ user: User, _ body: JSONValue, _ id: String, property: String? = nil, line: UInt = #line
    ) async throws {
        f.refused(try await user.call("POST", "/conversations", body), id, property: property, line: line)
        f.refused(try await user.socket().ask("Conversation.create", nil, body), id, property: property, line: line)
    }

    static let creating: [Rule] = [
        Rule("5.4", "POST /conversations is 201 with the conversation", .doc) { f in
            let users = try await f.users("ana", "ben")
            let answer = try await users[0]
                .call("POST", "/conversations", User.conversation([users[1].id], metadata: ["a": "1"]))
            f.succeeded(answer, 201)
            f.equal(answer.json, try await users[0].load(answer.json["id"].string ?? ""))
        },
        Rule("5.4", "Conversation.create succeeds with the conversation") { f in
            let users = try await f.users("ana", "ben")
            let socket = try await users[0].socket()
            let data = try await socket.does(
                "Conversation.create", nil, User.conversation([users[1].id], metadata: ["a": "1"]))
            f.equal(data, try await users[0].load(data["id"].string ?? ""))
        },
        Rule("5.4", "the caller is added, and duplicates collapse") { f in
            let users = try await f.users("ana", "ben")
            for list in [[users[1].id], [users[1].id, users[1].id, users[0].id]] {
                let id = try await users[0].converse(list)
                f.equal(try await users[0].load(id)["participants"].ids.sorted(), users.map(\.id).sorted())
            }
        },
        Rule("5.4", "the list of participants may be empty") { f in
            let ana = try await f.user("ana")
            f.succeeded(try await ana.call("POST", "/conversations", User.conversation([])), 201)
        },
        Rule("5.4", "users who never signed in may be participants") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([Layer.identity(f.stranger())])
            f.equal(try await ana.load(id)["participants"].userIDs, [ana.userID, f.stranger()])
        },
        Rule("5.4", "without participants it is 422 missing_property participants") { f in
            try await refusedBoth(
                f, try await f.user("ana"), ["distinct": false], "missing_property", property: "participants")
        },
        Rule("5.4", "participants that are no list, or no list of ids, are 422 invalid_property") { f in
            let ana = try await f.user("ana")
            for value: JSONValue in ["x", 5, [:]] {
                try await refusedBoth(f, ana, ["participants": value], "invalid_property", property: "participants")
            }
            for value: JSONValue in [[5], [""], ["layer:///conversations/\(Layer.uuid())"]] {
                let answer = try await ana.call("POST", "/conversations", ["participants": value])
                f.refused(answer, "invalid_property")
                f.check(
                    answer.json["data"]["property"].string?.hasPrefix("participants") == true, "\(answer.json["data"])")
            }
        },
        Rule("5.4", "250 participants are allowed, more are 422 participants") { f in
            let ana = try await f.user("ana")
            let others = (0..<250).map { Layer.identity("p\($0).\(f.mark)") }
            let answer = try await ana.call("POST", "/conversations", User.conversation(Array(others.dropLast())))
            f.succeeded(answer, 201)
            f.equal(answer.json["participants"].ids.count, 250)
            f.refused(
                try await ana.call("POST", "/conversations", User.conversation(others)), "invalid_property",
                property: "participants")
        },
        Rule("5.4", "an id that is none is 422 id") { f in
            let ana = try await f.user("ana")
            for id in ["nothing", "layer:///messages/\(Layer.uuid())", ""] {
                let body = User.conversation([], id: id)
                try await refusedBoth(f, ana, body, "invalid_property", property: "id")
            }
        },
        Rule("5.4", "a distinct that is no boolean is 422 distinct") { f in
            let ana = try await f.user("ana")
            try await refusedBoth(
                f, ana, ["participants": [], "distinct": "yes"], "invalid_property", property: "distinct")
        },
    ]

    static let distinct: [Rule] = [
        Rule("5.4", "distinct is true by default") { f in
            let users = try await f.users("ana", "ben")
            let body = User.conversation([users[1].id], distinct: nil)
            let first = try await users[0].call("POST", "/conversations", body)
            f.succeeded(first, 201)
            f.equal(first.json["distinct"], true)
            let again = try await users[0].call("POST", "/conversations", body)
            f.succeeded(again, 200)
            f.equal(again.json["id"], first.json["id"])
        },
        Rule(
            "5.4",
            "a distinct conversation of the same participants is found: 200 with it, its own id and its last message"
        ) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].send("x", to: id)
            let answer = try await users[1]
                .call("POST", "/conversations", User.conversation([users[0].id], distinct: true, id: Layer.uuid()))
            f.succeeded(answer, 200)
            f.equal(answer.json, try await users[1].load(id))
            f.equal(answer.json["last_message"]["parts"][0]["body"], "x")
        },
        Rule("5.4", "over the socket a found conversation is a success with the other id") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], distinct: true)
            let data = try await users[1].socket()
                .does("Conversation.create", nil, User.conversation([users[0].id], distinct: true, id: Layer.uuid()))
            f.equal(data["id"].string, id)
        },
        Rule("5.4", "equal metadata finds it, whatever the order of the keys") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0]
                .converse([users[1].id], metadata: ["a": "1", "b": ["c": "2", "d": "3"]], distinct: true)
            let text = """
                {"participants":["\(users[1].id)"],"distinct":true,"metadata":{"b":{"d":"3","c":"2"},"a":"1"}}
                """
            let answer = try await f.client.call(
                "POST", "/conversations", data: Data(text.utf8), token: users[0].session)
            f.succeeded(answer, 200)
            f.equal(answer.json["id"].string, id)
        },
        Rule("5.4", "absent and null metadata find it whatever its own") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1"], distinct: true)
            for metadata: JSONValue? in [nil, .null] {
                let answer = try await users[0]
                    .call(
                        "POST", "/conversations", User.conversation([users[1].id], metadata: metadata, distinct: true))
                f.succeeded(answer, 200)
                f.equal(answer.json["id"].string, id)
                f.equal(answer.json["metadata"], ["a": "1"])
            }
        },
        Rule("5.4", "other metadata is 409 conflict with the existing conversation") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1"], distinct: true)
            let answer = try await users[0]
                .call("POST", "/conversations", User.conversation([users[1].id], metadata: ["a": "2"], distinct: true))
            f.refused(answer, "conflict")
            f.equal(answer.json["data"], try await users[0].load(id))
        },
        Rule("5.4", "over the socket other metadata is an unsuccessful response conflict with the conversation") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], distinct: true)
            let body = User.conversation([users[1].id], metadata: ["a": "2"], distinct: true)
            let answer = try await users[0].socket().ask("Conversation.create", nil, body)
            f.refused(answer, "conflict")
            f.equal(answer.data["data"], try await users[0].load(id))
        },
        Rule("5.4", "distinct false always creates") { f in
            let users = try await f.users("ana", "ben")
            let one = try await users[0].converse([users[1].id], distinct: true)
            let two = try await users[0].converse([users[1].id], distinct: false)
            f.check(one != two, "the same")
            f.equal(try await users[0].load(two)["distinct"], false)
        },
        Rule("5.4", "a conversation that is not distinct is never found") { f in
            let users = try await f.users("ana", "ben")
            let one = try await users[0].converse([users[1].id], distinct: false)
            let answer = try await users[0]
                .call("POST", "/conversations", User.conversation([users[1].id], distinct: true))
            f.succeeded(answer, 201)
            f.check(answer.json["id"].string != one, "the same")
        },
        Rule("5.4", "participants changed later make a distinct conversation findable no more") { f in
            let users = try await f.users("ana", "ben", "cleo")
            let one = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].patch(one, add(users[2]))
            f.equal(try await users[0].load(one)["distinct"], false)
            try await users[0].patch(one, remove(users[2]))
            f.equal(try await users[0].load(one)["distinct"], false)
            f.succeeded(
                try await users[0].call("POST", "/conversations", User.conversation([users[1].id], distinct: true)), 201
            )
        },
        Rule("5.4", "one deleted for all is found no more") { f in
            let users = try await f.users("ana", "ben")
            let one = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].does("DELETE", Layer.path(one) + "?mode=all_participants")
            f.succeeded(
                try await users[0].call("POST", "/conversations", User.conversation([users[1].id], distinct: true)), 201
            )
        },
        Rule("5.4", "one the caller deleted on their devices is found, visible again, empty up to the deletion") { f in
            let users = try await f.users("ana", "ben")
            let one = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].send("before", to: one)
            try await users[1].does("DELETE", Layer.path(one) + "?mode=my_devices")
            let answer = try await users[1]
                .call("POST", "/conversations", User.conversation([users[0].id], distinct: true))
            f.succeeded(answer, 200)
            f.equal(answer.json["id"].string, one)
            f.equal(answer.json["last_message"], .null)
            f.equal(try await users[1].get("/conversations").ids, [one])
            f.equal(try await users[1].get(Layer.path(one) + "/messages"), [])
        },
        Rule("5.4", "creates of the same set at the same time make one conversation") { f in
            let users = try await f.users("ana", "ben")
            let answers = try await withThrowingTaskGroup(of: RESTResponse.self) { group in
                for number in 0..<8 {
                    let (caller, other) = (users[number % 2], users[(number + 1) % 2])
                    group.addTask {
                        try await caller.call("POST", "/conversations", User.conversation([other.id], distinct: true))
                    }
                }
                return try await group.reduce(into: [RESTResponse]()) { $0.append($1) }
            }
            f.equal(Set(answers.map { $0.json["id"].string }).count, 1)
            f.equal(answers.map(\.status).sorted(), [200, 200, 200, 200, 200, 200, 200, 201])
        },
        Rule("5.4", "a conversation is visible to the others at once", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            f.equal(try await users[1].get("/conversations").ids, [id])
        },
    ]

    static let receiptSwitches: [Rule] = [
        Rule("5.4", "delivery_receipts and read_receipts are true by default and shown", .doc) { f in
            let ana = try await f.user("ana")
            let object = try await ana.load(try await ana.converse([]))
            f.equal(object["delivery_receipts"], true)
            f.equal(object["read_receipts"], true)
        },
        Rule("5.4", "receipts that are switched off are shown to their giver alone", .doc) { f in
            let users = try await f.users("ana", "ben")
            var body = User.conversation([users[1].id])
            body["read_receipts"] = false
            let id = try await users[0].does("POST", "/conversations", body).json["id"].string ?? ""
            f.equal(try await users[0].load(id)["read_receipts"], false)
            f.equal(try await users[0].load(id)["delivery_receipts"], true)
            let message = try await users[0].sendID("x", to: id)
            try await users[1].receipt("read", message)
            f.equal(try await users[1].load(message)["recipient_status"][users[1].id], "read")
            f.equal(try await users[1].load(id)["unread_message_count"], 0)
            f.check(try await users[0].load(message)["recipient_status"][users[1].id] != "read", "Ana sees it")
        },
        Rule("5.4", "receipts that are switched off are announced to their giver alone", .doc) { f in
            let users = try await f.users("ana", "ben")
            let sockets = [try await users[0].socket(), try await users[1].socket()]
            var body = User.conversation([users[1].id])
            body["read_receipts"] = false
            body["delivery_receipts"] = false
            let id = try await users[0].does("POST", "/conversations", body).json["id"].string ?? ""
            let message = try await users[0].sendID("x", to: id)
            for socket in sockets { try await socket.message("x") }
            try await users[1].receipt("delivery", message)
            try await users[1].receipt("read", message)
            try await users[0].send("fence", to: id)
            for socket in sockets { try await socket.message("fence") }
            f.check(!sockets[0].history.contains { $0.isChange("update", of: "Message") }, "Ana was told")
            f.check(
                sockets[1].history.contains { $0.isChange("update", of: "Message", id: message) }, "Ben was not told")
        },
        Rule("5.4", "receipt switches that are no booleans are 422", .doc) { f in
            let ana = try await f.user("ana")
            for name in ["delivery_receipts", "read_receipts"] {
                var body = User.conversation([])
                body[name] = "no"
                f.refused(try await ana.call("POST", "/conversations", body), "invalid_property", property: name)
            }
        },
        Rule("5.4", "receipt switches cannot be patched", .doc) { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            for name in ["delivery_receipts", "read_receipts"] {
                f.refused(
                    try await ana.call("PATCH", Layer.path(id), [set(name, false)]), "invalid_property", property: name)
            }
        },
    ]
}
