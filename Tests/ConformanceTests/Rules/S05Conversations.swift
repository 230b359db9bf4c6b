// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// 5 Conversations.
enum S05 {
    static let rules: [Rule] =
        object + metadata + listing + S05Loads.rules + getting + creating + distinct + receiptSwitches + participants + metadataPatches + deleting
        + readingAll

    // MARK: 5.1

    private static let object: [Rule] = [
        Rule("5.1", "a conversation has all its members") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["title": "Weekend"], distinct: true)
            let object = try await users[1].load(id)
            f.equal(object["id"].string, id)
            f.equal(object["url"].string, f.system.publicURL + Layer.path(id))
            f.equal(object["messages_url"].string, f.system.publicURL + Layer.path(id) + "/messages")
            f.check(Layer.isTimestamp(object["created_at"].string), "created_at \(object["created_at"])")
            f.check(object.object?["last_message"] == .some(.null), "last_message")
            f.equal(Set(object["participants"].ids), Set(users.map(\.id)))
            f.equal(object["distinct"], true)
            f.equal(object["unread_message_count"], 0)
            f.equal(object["total_message_count"], 0)
            f.equal(object["metadata"], ["title": "Weekend"])
        },
        Rule("5.1", "participants include the caller") { f in
            let ana = try await f.user("ana")
            f.equal(try await ana.load(try await ana.converse([]))["participants"].ids, [ana.id])
        },
        Rule("5.1", "metadata is {} if there is none, never null") { f in
            let ana = try await f.user("ana")
            for body in [User.conversation([]), User.conversation([], metadata: .null), User.conversation([], metadata: [:])] {
                f.equal(try await ana.does("POST", "/conversations", body).json["metadata"], [:])
            }
        },
        Rule("5.1", "last_message is the whole newest message") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].send("first", to: id)
            let last = try await users[0].sendID("second", to: id)
            f.equal(try await users[1].load(id)["last_message"], try await users[1].load(last))
        },
        Rule("5.1", "unread_message_count counts messages of others not read by the caller, total_message_count all that the caller can see") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].send("1", to: id)
            let second = try await users[0].sendID("2", to: id)
            try await users[1].send("3", to: id)
            try await users[1].receipt("read", second)
            let (anas, bens) = (try await users[0].load(id), try await users[1].load(id))
            f.equal([anas["unread_message_count"].int, anas["total_message_count"].int], [1, 3])
            f.equal([bens["unread_message_count"].int, bens["total_message_count"].int], [1, 3])
        },
        Rule("5.1", "conversations carry position and epoch", .doc) { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            let before = try await ana.load(id)
            try await ana.patch(id, set("metadata.a", "1"))
            let after = try await ana.load(id)
            f.check((before["position"].int ?? .max) < (after["position"].int ?? 0), "\(before["position"]) \(after["position"])")
            f.check(before["epoch"].string?.isEmpty == false, "epoch \(before["epoch"])")
            f.equal(before["epoch"], after["epoch"])
        },
    ]

    /// Metadata that is refused, and the path that is named; on a create and on a patch.
    private static let badMetadata: [(what: String, value: JSONValue, path: String)] = [
        ("a number", ["a": 5], "metadata.a"), ("a boolean", ["a": ["b": true]], "metadata.a.b"), ("null", ["a": ["b": nil]], "metadata.a.b"),
        ("an array", ["a": ["b": ["c"]]], "metadata.a.b"), ("a key with a space", ["a b": "x"], "metadata.a b"),
        ("a key with a dot", ["a": ["b.c": "x"]], "metadata.a.b\\.c"), ("an empty key", ["": "x"], "metadata."),
        ("a key with other letters", ["é": "x"], "metadata.é"),
        ("a value of more than 2048 bytes", ["a": .string(String(repeating: "x", count: 2049))], "metadata.a"),
        ("a value of more than 2048 bytes of UTF-8", ["a": .string(String(repeating: "é", count: 1025))], "metadata.a"),
    ]

    private static func nested(_ depth: Int) -> JSONValue {
        (1..<depth).reduce(["k": "x"] as JSONValue) { value, _ in ["k": value] }
    }

    private static let metadata: [Rule] =
        badMetadata.map { bad in
            Rule("5.1", "metadata with \(bad.what) is 422 with its path") { f in
                let ana = try await f.user("ana")
                f.refused(
                    try await ana.call("POST", "/conversations", User.conversation([], metadata: bad.value)), "invalid_property",
                    property: bad.path)
                let id = try await ana.converse([], metadata: ["kept": "1"])
                f.refused(try await ana.call("PATCH", Layer.path(id), [set("metadata", bad.value)]), "invalid_property", property: bad.path)
                f.equal(try await ana.load(id)["metadata"], ["kept": "1"])
            }
        } + [
            Rule("5.1", "metadata that is no object is 422 metadata") { f in
                let ana = try await f.user("ana")
                for value: JSONValue in ["text", 5, ["a"], true] {
                    f.refused(
                        try await ana.call("POST", "/conversations", User.conversation([], metadata: value)), "invalid_property",
                        property: "metadata")
                }
            },
            Rule("5.1", "keys of letters, digits, - and _ nest, and values have up to 2048 bytes") { f in
                let ana = try await f.user("ana")
                let tree: JSONValue = [
                    "A-z_09": ["b": ["c": "x", "d": ""]], "long": .string(String(repeating: "é", count: 1024)), "emoji": "🎉 \" \\ \u{1}",
                ]
                let id = try await ana.converse([], metadata: tree)
                f.equal(try await ana.load(id)["metadata"], tree)
            },
            Rule("5.1", "metadata is at most 32 deep") { f in
                let ana = try await f.user("ana")
                f.succeeded(try await ana.call("POST", "/conversations", User.conversation([], metadata: nested(32))), 201)
                let answer = try await ana.call("POST", "/conversations", User.conversation([], metadata: nested(33)))
                f.refused(answer, "invalid_property")
            },
            Rule("5.1", "a path of more than 1024 bytes is 422", .doc) { f in
                let ana = try await f.user("ana")
                let (fits, long) = (String(repeating: "k", count: 1024), String(repeating: "k", count: 1025))
                f.succeeded(try await ana.call("POST", "/conversations", User.conversation([], metadata: .object([fits: "x"]))), 201)
                f.refused(try await ana.call("POST", "/conversations", User.conversation([], metadata: .object([long: "x"]))), "invalid_property")
            },
            Rule("5.1", "the keys __proto__, constructor and prototype are 422 with their path, at any depth, wherever they are set", .doc) { f in
                let ana = try await f.user("ana")
                for (value, path): (JSONValue, String) in [
                    (["__proto__": ["polluted": "x"]], "metadata.__proto__"), (["a": ["constructor": "x"]], "metadata.a.constructor"),
                    (["a": ["b": ["prototype": "x"]]], "metadata.a.b.prototype"),
                ] {
                    f.refused(
                        try await ana.call("POST", "/conversations", User.conversation([], metadata: value)), "invalid_property", property: path)
                    let id = try await ana.converse([], metadata: ["kept": "1"])
                    f.refused(try await ana.call("PATCH", Layer.path(id), [set("metadata", value)]), "invalid_property", property: path)
                    f.refused(try await ana.call("PATCH", Layer.path(id), [set(path, "x")]), "invalid_property", property: path)
                    f.succeeded(try await ana.call("PATCH", Layer.path(id), [delete(path)]), 204)
                    f.equal(try await ana.load(id)["metadata"], ["kept": "1"])
                }
            },
            Rule("5.1", "paths and values of more than 1 MB are 422 metadata, and change nothing; a tree can shrink at any time", .doc) { f in
                let ana = try await f.user("ana")
                func values(_ range: Range<Int>) -> JSONValue {
                    .object(Dictionary(uniqueKeysWithValues: range.map { ("k\($0)", .string(String(repeating: "v", count: 2048))) }))
                }
                let id = try await ana.converse([], metadata: values(100..<500))
                f.refused(
                    try await ana.call("PATCH", Layer.path(id), [set("metadata.more", values(100..<212))]), "invalid_property",
                    property: "metadata")
                f.equal(try await ana.load(id)["metadata"], values(100..<500))
                f.succeeded(try await ana.call("PATCH", Layer.path(id), [set("metadata.more", values(100..<208))]), 204)
                f.succeeded(try await ana.call("PATCH", Layer.path(id), [delete("metadata.more"), set("metadata.k100", "")]), 204)
            },
            Rule("5.1", "the number of keys has no limit of its own") { f in
                let ana = try await f.user("ana")
                let tree = JSONValue.object(Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key\($0)", .string("\($0)")) }))
                let id = try await ana.converse([], metadata: tree)
                f.equal(try await ana.load(id)["metadata"], tree)
            },
        ]

    // MARK: 5.2, 5.3

    private static let listing: [Rule] = [
        Rule("5.2", "conversations are listed newest first by creation, whatever happens in them") { f in
            let ana = try await f.user("ana")
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await ana.converse([])) }
            try await ana.send("x", to: ids[0])
            for query in ["", "?sort_by=created_at"] { f.equal(try await ana.get("/conversations\(query)").ids, ids.reversed()) }
        },
        Rule("5.2", "sort_by=last_message lists by the last message, one without by its creation") { f in
            let ana = try await f.user("ana")
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await ana.converse([])) }
            try await ana.send("x", to: ids[1])
            try await ana.send("x", to: ids[0])
            f.equal(try await ana.get("/conversations?sort_by=last_message").ids, [ids[0], ids[1], ids[2]])
            f.equal(try await ana.get("/conversations?sort_by=last_message&page_size=1&from_id=\(ids[0])").ids, [ids[1]])
        },
        Rule("5.2", "the list shows each conversation as a single request does") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1"])
            try await users[0].send("x", to: id)
            f.equal(try await users[1].get("/conversations")[0], try await users[1].load(id))
        },
        Rule("5.2", "conversations of others are not listed") { f in
            let users = try await f.users("ana", "ben")
            try await users[0].converse([])
            f.equal(try await users[1].get("/conversations"), [])
        },
        Rule("5.2", "conversations the caller was removed from are listed, with participants [] and what was there until then") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1"])
            let last = try await users[0].sendID("before", to: id)
            try await users[0].patch(id, remove(users[1]))
            try await users[0].send("after", to: id)
            try await users[0].patch(id, set("metadata.a", "2"))
            let list = try await users[1].does("GET", "/conversations")
            f.equal(list.header("Layer-Count"), "1")
            f.equal(list.json[0]["participants"], [])
            f.equal(list.json[0]["metadata"], ["a": "1"])
            f.equal(list.json[0]["last_message"]["id"].string, last)
            f.equal(list.json[0]["total_message_count"], 1)
        },
        Rule("5.2", "conversations the caller has left are listed too") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[1].patch(id, remove(users[1]))
            f.equal(try await users[1].get("/conversations").ids, [id])
        },
        Rule("5.2", "conversations the caller deleted on their devices are not listed; those deleted for all are listed for no user") { f in
            let users = try await f.users("ana", "ben")
            let (one, two) = (try await users[0].converse(users[1]), try await users[0].converse(users[1]))
            try await users[1].does("DELETE", Layer.path(one) + "?mode=my_devices")
            let bens = try await users[1].does("GET", "/conversations")
            f.equal(bens.json.ids, [two])
            f.equal(bens.header("Layer-Count"), "1")
            try await users[1].does("DELETE", Layer.path(two) + "?mode=all_participants")
            f.equal(try await users[1].get("/conversations"), [])
            f.equal(try await users[0].get("/conversations").ids, [one])
        },
    ]

    private static let getting: [Rule] = [
        Rule("5.3", "GET /conversations/:uuid is 200 with the conversation") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            f.succeeded(try await ana.call("GET", Layer.path(id)), 200)
        },
        Rule("5.3", "a conversation that does not exist, or that the caller never was in, is 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            for path in [Layer.path(id), "/conversations/\(Layer.uuid())", "/conversations/nothing"] {
                f.refused(try await users[1].call("GET", path), "not_found")
            }
        },
        Rule("5.3", "a conversation deleted for the caller or for all is 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[1].does("DELETE", Layer.path(id) + "?mode=my_devices")
            f.refused(try await users[1].call("GET", Layer.path(id)), "not_found")
            f.succeeded(try await users[0].call("GET", Layer.path(id)), 200)
            try await users[0].does("DELETE", Layer.path(id) + "?mode=all_participants")
            f.refused(try await users[0].call("GET", Layer.path(id)), "not_found")
        },
    ]

    // MARK: 5.4

    /// Creates over REST or over a socket; both must refuse alike.
    private static func refusedBoth(
        _ f: Fixture, _ user: User, _ body: JSONValue, _ id: String, property: String? = nil, line: UInt = #line
    ) async throws {
        f.refused(try await user.call("POST", "/conversations", body), id, property: property, line: line)
        f.refused(try await user.socket().ask("Conversation.create", nil, body), id, property: property, line: line)
    }

    private static let creating: [Rule] = [
        Rule("5.4", "POST /conversations is 201 with the conversation", .doc) { f in
            let users = try await f.users("ana", "ben")
            let answer = try await users[0].call("POST", "/conversations", User.conversation([users[1].id], metadata: ["a": "1"]))
            f.succeeded(answer, 201)
            f.equal(answer.json, try await users[0].load(answer.json["id"].string ?? ""))
        },
        Rule("5.4", "Conversation.create succeeds with the conversation") { f in
            let users = try await f.users("ana", "ben")
            let socket = try await users[0].socket()
            let data = try await socket.does("Conversation.create", nil, User.conversation([users[1].id], metadata: ["a": "1"]))
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
            try await refusedBoth(f, try await f.user("ana"), ["distinct": false], "missing_property", property: "participants")
        },
        Rule("5.4", "participants that are no list, or no list of ids, are 422 invalid_property") { f in
            let ana = try await f.user("ana")
            for value: JSONValue in ["x", 5, [:]] {
                try await refusedBoth(f, ana, ["participants": value], "invalid_property", property: "participants")
            }
            for value: JSONValue in [[5], [""], ["layer:///conversations/\(Layer.uuid())"]] {
                let answer = try await ana.call("POST", "/conversations", ["participants": value])
                f.refused(answer, "invalid_property")
                f.check(answer.json["data"]["property"].string?.hasPrefix("participants") == true, "\(answer.json["data"])")
            }
        },
        Rule("5.4", "250 participants are allowed, more are 422 participants") { f in
            let ana = try await f.user("ana")
            let others = (0..<250).map { Layer.identity("p\($0).\(f.mark)") }
            let answer = try await ana.call("POST", "/conversations", User.conversation(Array(others.dropLast())))
            f.succeeded(answer, 201)
            f.equal(answer.json["participants"].ids.count, 250)
            f.refused(
                try await ana.call("POST", "/conversations", User.conversation(others)), "invalid_property", property: "participants")
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
            try await refusedBoth(f, ana, ["participants": [], "distinct": "yes"], "invalid_property", property: "distinct")
        },
    ]

    private static let distinct: [Rule] = [
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
        Rule("5.4", "a distinct conversation of the same participants is found: 200 with it, its own id and its last message") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].send("x", to: id)
            let answer = try await users[1].call("POST", "/conversations", User.conversation([users[0].id], distinct: true, id: Layer.uuid()))
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
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1", "b": ["c": "2", "d": "3"]], distinct: true)
            let text = """
                {"participants":["\(users[1].id)"],"distinct":true,"metadata":{"b":{"d":"3","c":"2"},"a":"1"}}
                """
            let answer = try await f.client.call("POST", "/conversations", data: Data(text.utf8), token: users[0].session)
            f.succeeded(answer, 200)
            f.equal(answer.json["id"].string, id)
        },
        Rule("5.4", "absent and null metadata find it whatever its own") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1"], distinct: true)
            for metadata: JSONValue? in [nil, .null] {
                let answer = try await users[0].call("POST", "/conversations", User.conversation([users[1].id], metadata: metadata, distinct: true))
                f.succeeded(answer, 200)
                f.equal(answer.json["id"].string, id)
                f.equal(answer.json["metadata"], ["a": "1"])
            }
        },
        Rule("5.4", "other metadata is 409 conflict with the existing conversation") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1"], distinct: true)
            let answer = try await users[0].call("POST", "/conversations", User.conversation([users[1].id], metadata: ["a": "2"], distinct: true))
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
            let answer = try await users[0].call("POST", "/conversations", User.conversation([users[1].id], distinct: true))
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
            f.succeeded(try await users[0].call("POST", "/conversations", User.conversation([users[1].id], distinct: true)), 201)
        },
        Rule("5.4", "one deleted for all is found no more") { f in
            let users = try await f.users("ana", "ben")
            let one = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].does("DELETE", Layer.path(one) + "?mode=all_participants")
            f.succeeded(try await users[0].call("POST", "/conversations", User.conversation([users[1].id], distinct: true)), 201)
        },
        Rule("5.4", "one the caller deleted on their devices is found, visible again, empty up to the deletion") { f in
            let users = try await f.users("ana", "ben")
            let one = try await users[0].converse([users[1].id], distinct: true)
            try await users[0].send("before", to: one)
            try await users[1].does("DELETE", Layer.path(one) + "?mode=my_devices")
            let answer = try await users[1].call("POST", "/conversations", User.conversation([users[0].id], distinct: true))
            f.succeeded(answer, 200)
            f.equal(answer.json["id"].string, one)
            f.equal(answer.json["last_message"], .null)
            f.equal(try await users[1].get("/conversations").ids, [one])
            f.equal(try await users[1].get(Layer.path(one) + "/messages"), [])
        },
        Rule("5.4", "creates of the same set at the same time make one conversation") { f in
            let users = try await f.users("ana", "ben")
            let answers = try await withThrowingTaskGroup(of: RESTAnswer.self) { group in
                for number in 0..<8 {
                    let (caller, other) = (users[number % 2], users[(number + 1) % 2])
                    group.addTask { try await caller.call("POST", "/conversations", User.conversation([other.id], distinct: true)) }
                }
                return try await group.reduce(into: [RESTAnswer]()) { $0.append($1) }
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

    private static let receiptSwitches: [Rule] = [
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
            f.check(sockets[1].history.contains { $0.isChange("update", of: "Message", id: message) }, "Ben was not told")
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
                f.refused(try await ana.call("PATCH", Layer.path(id), [set(name, false)]), "invalid_property", property: name)
            }
        },
    ]

    // MARK: 5.5

    private static let participants: [Rule] = [
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
            let add: JSONValue = ["operation": "add", "property": "participants", "id": .string(Layer.identity("more.\(f.mark)"))]
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
            f.equal((try await users[1].get(Layer.path(id) + "/messages").array ?? []).map { $0["is_unread"] }, [false, false])
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
                ["operation": "add", "property": "participants"], ["operation": "add", "property": "participants", "id": 5],
                ["operation": "add", "property": "participants", "id": "layer:///messages/x"],
            ] {
                let answer = try await users[0].call("PATCH", Layer.path(id), [add(users[1]), operation])
                f.check(answer.status == 422 || answer.status == 400, "\(operation): \(answer.status)")
            }
            f.equal(try await users[0].load(id)["participants"].ids, [users[0].id])
        },
    ]

    // MARK: 5.6

    /// What a patch makes of metadata.
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

    private static let metadataPatches: [Rule] = [
        patching("a key is set", from: ["a": "1"], [set("metadata.b", "2")], gives: ["a": "1", "b": "2"]),
        patching("a key is replaced", from: ["a": "1"], [set("metadata.a", "2")], gives: ["a": "2"]),
        patching("missing objects on the way are made", from: [:], [set("metadata.a.b.c", "1")], gives: ["a": ["b": ["c": "1"]]]),
        patching("a key is deleted", from: ["a": "1", "b": "2"], [delete("metadata.a")], gives: ["b": "2"]),
        patching("deleting a missing key does nothing", from: ["a": "1"], [delete("metadata.x"), delete("metadata.x.y")], gives: ["a": "1"]),
        patching("set metadata replaces everything", from: ["a": "1", "b": ["c": "2"]], [set("metadata", ["d": "3"])], gives: ["d": "3"]),
        patching("an object may be set", from: ["a": ["b": "1"]], [set("metadata.a", ["c": "2"])], gives: ["a": ["c": "2"]]),
        patching("a subtree may be deleted", from: ["a": ["b": "1", "c": "2"], "d": "3"], [delete("metadata.a")], gives: ["d": "3"]),
        patching(
            "operations are executed in order", from: [:], [set("metadata.a", "1"), delete("metadata.a"), set("metadata.a", "2")],
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
            let answer = try await users[0].call("PATCH", Layer.path(id), [add(users[1]), set("metadata.a", "1"), set("metadata.b", 5)])
            f.refused(answer, "invalid_property", property: "metadata.b")
            let object = try await users[0].load(id)
            f.equal(object["participants"].ids, [users[0].id])
            f.equal(object["metadata"], [:])
        },
        Rule("5.6", "any other property is 422 with its name") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            for property in ["distinct", "unread_message_count", "last_message", "created_at", "colour", "id"] {
                f.refused(try await ana.call("PATCH", Layer.path(id), [set(property, "x")]), "invalid_property", property: property)
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

    // MARK: 5.7

    private static let deleting: [Rule] = [
        Rule("5.7", "all_participants is 204 and gone for all participants") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: id)
            f.succeeded(try await users[1].call("DELETE", Layer.path(id) + "?mode=all_participants"), 204)
            for user in users {
                for path in [Layer.path(id), Layer.path(id) + "/messages", Layer.path(message)] {
                    f.refused(try await user.call("GET", path), "not_found")
                }
                f.refused(try await user.call("PATCH", Layer.path(id), [set("metadata.a", "1")]), "not_found")
                f.refused(try await user.call("POST", Layer.path(id) + "/messages", User.message("y")), "not_found")
                f.refused(try await user.call("DELETE", Layer.path(id) + "?mode=all_participants"), "not_found")
            }
        },
        Rule("5.7", "destroy=true is all_participants", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            f.succeeded(try await users[0].call("DELETE", Layer.path(id) + "?destroy=true"), 204)
            f.refused(try await users[1].call("GET", Layer.path(id)), "not_found")
        },
        Rule("5.7", "my_devices hides it with all messages so far, and the caller stays a participant") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: id)
            f.succeeded(try await users[1].call("DELETE", Layer.path(id) + "?mode=my_devices"), 204)
            f.refused(try await users[1].call("GET", Layer.path(id)), "not_found")
            f.refused(try await users[1].call("GET", Layer.path(message)), "not_found")
            f.equal(try await users[0].load(id)["participants"].ids.count, 2)
            f.succeeded(try await users[0].call("GET", Layer.path(message)), 200)
        },
        Rule("5.7", "a later message brings it back, with only the newer messages") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], metadata: ["a": "1"])
            try await users[0].send("before", to: id)
            try await users[1].does("DELETE", Layer.path(id) + "?mode=my_devices")
            let later = try await users[0].sendID("after", to: id)
            let object = try await users[1].load(id)
            f.equal(object["metadata"], ["a": "1"])
            f.equal([object["unread_message_count"].int, object["total_message_count"].int], [1, 1])
            f.equal(object["last_message"]["id"].string, later)
            f.equal(try await users[1].get(Layer.path(id) + "/messages").ids, [later])
            f.equal(try await users[0].load(id)["total_message_count"], 2)
        },
        Rule("5.7", "my_devices with a position hides what came up to it, and leaves what came since", .doc) { f in
            let scene = try await Scene(f)
            let old = try await scene.sent("old")
            let position = try await scene.ana.load(scene.conversation)["position"].int ?? 0
            let new = try await scene.sent("new", by: scene.ben)
            f.succeeded(try await scene.ana.call("DELETE", Layer.path(scene.conversation) + "?mode=my_devices&position=\(position)"), 204)
            let object = try await scene.ana.load(scene.conversation)
            f.equal([object["unread_message_count"].int, object["total_message_count"].int], [1, 1])
            f.equal(try await scene.ana.get(Layer.path(scene.conversation) + "/messages").ids, [new])
            f.refused(try await scene.ana.call("GET", Layer.path(old)), "not_found")
            for socket in [scene.acting, scene.own] {
                let packet = try await socket.change("delete", "Conversation", scene.conversation)
                f.equal(packet.data, ["mode": "my_devices", "from_position": .integer(Int64(position) * 8192)])
                let counts = try await socket.change("update", "Conversation", scene.conversation) { $0.has("set", "total_message_count", value: 1) }
                f.check(counts.data.has("set", "unread_message_count", value: 1), "\(counts.data)")
                f.equal(counts.body["user_position"], packet.body["user_position"])
            }
            f.equal(try await scene.ben.load(scene.conversation)["total_message_count"], 2)
            // What is hidden already, and a position before all, are no change.
            for earlier in [position, 0] {
                f.succeeded(try await scene.ana.call("DELETE", Layer.path(scene.conversation) + "?mode=my_devices&position=\(earlier)"), 204)
            }
            f.equal(try await scene.ana.load(scene.conversation)["total_message_count"], 1)
            // Beyond the present it is the present.
            f.succeeded(try await scene.ana.call("DELETE", Layer.path(scene.conversation) + "?mode=my_devices&position=99999999999999999999"), 204)
            f.refused(try await scene.ana.call("GET", Layer.path(scene.conversation)), "not_found")
        },
        Rule("5.7", "a position with all_participants, or one that is no number, is 422 invalid_property position", .doc) { f in
            let ana = try await f.user("ana")
            let path = Layer.path(try await ana.converse([]))
            for query in [
                "mode=all_participants&position=1", "mode=my_devices&position=x", "mode=my_devices&position=-1", "mode=my_devices&position=",
            ] {
                f.refused(try await ana.call("DELETE", path + "?" + query), "invalid_property", property: "position")
            }
            f.succeeded(try await ana.call("GET", path), 200)
        },
        Rule("5.7", "leave=false is the default") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[1].does("DELETE", Layer.path(id) + "?mode=my_devices&leave=false")
            f.equal(try await users[0].load(id)["participants"].ids.count, 2)
        },
        Rule("5.7", "leave=true removes the caller from the participants") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], distinct: true)
            f.succeeded(try await users[1].call("DELETE", Layer.path(id) + "?mode=my_devices&leave=true"), 204)
            let object = try await users[0].load(id)
            f.equal(object["participants"].ids, [users[0].id])
            f.equal(object["distinct"], false)
            try await users[0].send("later", to: id)
            f.refused(try await users[1].call("GET", Layer.path(id)), "not_found")
            f.equal(try await users[1].get("/conversations"), [])
        },
        Rule("5.7", "without a mode it is 422 missing_property mode") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            f.refused(try await ana.call("DELETE", Layer.path(id)), "missing_property", property: "mode")
        },
        Rule("5.7", "a mode that is none is 422 invalid_property mode") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([])
            f.refused(try await ana.call("DELETE", Layer.path(id) + "?mode=everything"), "invalid_property", property: "mode")
        },
        Rule("5.7", "a conversation that is not there is 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            for mode in ["all_participants", "my_devices"] {
                f.refused(try await users[1].call("DELETE", Layer.path(id) + "?mode=\(mode)"), "not_found")
                f.refused(try await users[1].call("DELETE", "/conversations/\(Layer.uuid())?mode=\(mode)"), "not_found")
            }
        },
        Rule("5.7", "a former participant is 403 for all_participants, and may do my_devices") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].patch(id, remove(users[1]))
            f.refused(try await users[1].call("DELETE", Layer.path(id) + "?mode=all_participants"), "access_denied")
            f.succeeded(try await users[1].call("DELETE", Layer.path(id) + "?mode=my_devices"), 204)
            f.refused(try await users[1].call("GET", Layer.path(id)), "not_found")
            f.equal(try await users[1].get("/conversations"), [])
            f.succeeded(try await users[0].call("GET", Layer.path(id)), 200)
        },
    ]

    // MARK: 5.8

    /// Ana's three messages, their positions, and Ben, who has read none.
    private static func three(_ f: Fixture) async throws -> (ben: User, id: String, positions: [Int], messages: [String]) {
        let users = try await f.users("ana", "ben")
        let id = try await users[0].converse(users[1])
        var messages: [JSONValue] = []
        for number in 1...3 { messages.append(try await users[0].send("\(number)", to: id)) }
        return (users[1], id, messages.compactMap { $0["position"].int }, messages.compactMap { $0["id"].string })
    }

    private static let readingAll: [Rule] = [
        Rule("5.8", "mark_all_read with a position reads every message up to it: 204") { f in
            let (ben, id, positions, messages) = try await three(f)
            f.succeeded(try await ben.call("POST", Layer.path(id) + "/mark_all_read", ["position": .integer(Int64(positions[1]))]), 204)
            f.equal(try await ben.load(id)["unread_message_count"], 1)
            var unread: [Bool?] = []
            for message in messages { unread.append(try await ben.load(message)["is_unread"].bool) }
            f.equal(unread, [false, false, true])
            f.equal(try await ben.load(messages[0])["recipient_status"][ben.id], "read")
        },
        Rule("5.8", "a position between two messages reads those before it") { f in
            let (ben, id, positions, _) = try await three(f)
            try await ben.does("POST", Layer.path(id) + "/mark_all_read", ["position": .integer(Int64(positions[1] + 1))])
            f.equal(try await ben.load(id)["unread_message_count"], 1)
        },
        Rule("5.8", "position null, an empty object and no body at all read everything") { f in
            for body: JSONValue? in [["position": nil], [:], nil] {
                let (ben, id, _, _) = try await three(f)
                f.succeeded(try await ben.call("POST", Layer.path(id) + "/mark_all_read", body), 204)
                f.equal(try await ben.load(id)["unread_message_count"], 0)
            }
        },
        Rule("5.8", "mark_all_read without effect is 204") { f in
            let (ben, id, _, _) = try await three(f)
            for _ in 0..<2 { f.succeeded(try await ben.call("POST", Layer.path(id) + "/mark_all_read", [:]), 204) }
        },
        Rule("5.8", "several at once all succeed") { f in
            let (ben, id, positions, _) = try await three(f)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for position in positions + [positions[2]] {
                    group.addTask {
                        try await ben.call("POST", Layer.path(id) + "/mark_all_read", ["position": .integer(Int64(position))]).status
                    }
                }
                for try await status in group { f.equal(status, 204) }
            }
            f.equal(try await ben.load(id)["unread_message_count"], 0)
        },
        Rule("5.8", "a position that is no number is 422 position") { f in
            let (ben, id, _, _) = try await three(f)
            for value: JSONValue in ["1", 1.5, [:]] {
                f.refused(
                    try await ben.call("POST", Layer.path(id) + "/mark_all_read", ["position": value]), "invalid_property", property: "position")
            }
        },
        Rule("5.8", "mark_all_read of a conversation that is not there is 404, of a former participant's 403") { f in
            let users = try await f.users("ana", "ben", "cleo")
            let id = try await users[0].converse(users[1])
            f.refused(try await users[2].call("POST", Layer.path(id) + "/mark_all_read", [:]), "not_found")
            try await users[0].patch(id, remove(users[1]))
            f.refused(try await users[1].call("POST", Layer.path(id) + "/mark_all_read", [:]), "access_denied")
        },
    ]
}
