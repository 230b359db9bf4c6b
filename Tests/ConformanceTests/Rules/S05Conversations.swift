// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 5: conversations.
enum S05 {
    static let rules: [Rule] =
        object + metadata + listing + S05Loads.rules + getting + creating + distinct + receiptSwitches + participants
        + metadataPatches + deleting
        + readingAll

    // MARK: 5.1

    static let object: [Rule] = [
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
            for body in [
                User.conversation([]), User.conversation([], metadata: .null), User.conversation([], metadata: [:]),
            ] {
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
        Rule(
            "5.1",
            "unread_message_count counts messages of others not read by the caller, total_message_count all that the caller can see"
        ) { f in
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
            f.check(
                (before["position"].int ?? .max) < (after["position"].int ?? 0),
                "\(before["position"]) \(after["position"])")
            f.check(before["epoch"].string?.isEmpty == false, "epoch \(before["epoch"])")
            f.equal(before["epoch"], after["epoch"])
        },
    ]

    /// Invalid metadata, with the path that the error names. Used for creates and patches.
    private static let badMetadata: [(what: String, value: JSONValue, path: String)] = [
        ("a number", ["a": 5], "metadata.a"), ("a boolean", ["a": ["b": true]], "metadata.a.b"),
        ("null", ["a": ["b": nil]], "metadata.a.b"),
        ("an array", ["a": ["b": ["c"]]], "metadata.a.b"), ("a key with a space", ["a b": "x"], "metadata.a b"),
        ("a key with a dot", ["a": ["b.c": "x"]], "metadata.a.b\\.c"), ("an empty key", ["": "x"], "metadata."),
        ("a key with other letters", ["é": "x"], "metadata.é"),
        ("a value of more than 2048 bytes", ["a": .string(String(repeating: "x", count: 2049))], "metadata.a"),
        ("a value of more than 2048 bytes of UTF-8", ["a": .string(String(repeating: "é", count: 1025))], "metadata.a"),
    ]

    private static func nested(_ depth: Int) -> JSONValue {
        (1..<depth).reduce(["k": "x"] as JSONValue) { value, _ in ["k": value] }
    }

    static let metadata: [Rule] =
        badMetadata.map { bad in
            Rule("5.1", "metadata with \(bad.what) is 422 with its path") { f in
                let ana = try await f.user("ana")
                f.refused(
                    try await ana.call("POST", "/conversations", User.conversation([], metadata: bad.value)),
                    "invalid_property",
                    property: bad.path)
                let id = try await ana.converse([], metadata: ["kept": "1"])
                f.refused(
                    try await ana.call("PATCH", Layer.path(id), [set("metadata", bad.value)]), "invalid_property",
                    property: bad.path)
                f.equal(try await ana.load(id)["metadata"], ["kept": "1"])
            }
        } + [
            Rule("5.1", "metadata that is no object is 422 metadata") { f in
                let ana = try await f.user("ana")
                for value: JSONValue in ["text", 5, ["a"], true] {
                    f.refused(
                        try await ana.call("POST", "/conversations", User.conversation([], metadata: value)),
                        "invalid_property",
                        property: "metadata")
                }
            },
            Rule("5.1", "keys of letters, digits, - and _ nest, and values have up to 2048 bytes") { f in
                let ana = try await f.user("ana")
                let tree: JSONValue = [
                    "A-z_09": ["b": ["c": "x", "d": ""]], "long": .string(String(repeating: "é", count: 1024)),
                    "emoji": "🎉 \" \\ \u{1}",
                ]
                let id = try await ana.converse([], metadata: tree)
                f.equal(try await ana.load(id)["metadata"], tree)
            },
            Rule("5.1", "metadata is at most 32 deep") { f in
                let ana = try await f.user("ana")
                f.succeeded(
                    try await ana.call("POST", "/conversations", User.conversation([], metadata: nested(32))), 201)
                let answer = try await ana.call("POST", "/conversations", User.conversation([], metadata: nested(33)))
                f.refused(answer, "invalid_property")
            },
            Rule("5.1", "a path of more than 1024 bytes is 422", .doc) { f in
                let ana = try await f.user("ana")
                let (fits, long) = (String(repeating: "k", count: 1024), String(repeating: "k", count: 1025))
                f.succeeded(
                    try await ana.call("POST", "/conversations", User.conversation([], metadata: .object([fits: "x"]))),
                    201)
                f.refused(
                    try await ana.call("POST", "/conversations", User.conversation([], metadata: .object([long: "x"]))),
                    "invalid_property")
            },
            Rule(
                "5.1",
                "the keys __proto__, constructor and prototype are 422 with their path, at any depth, wherever they are set",
                .doc
            ) { f in
                let ana = try await f.user("ana")
                for (value, path): (JSONValue, String) in [
                    (["__proto__": ["polluted": "x"]], "metadata.__proto__"),
                    (["a": ["constructor": "x"]], "metadata.a.constructor"),
                    (["a": ["b": ["prototype": "x"]]], "metadata.a.b.prototype"),
                ] {
                    f.refused(
                        try await ana.call("POST", "/conversations", User.conversation([], metadata: value)),
                        "invalid_property", property: path)
                    let id = try await ana.converse([], metadata: ["kept": "1"])
                    f.refused(
                        try await ana.call("PATCH", Layer.path(id), [set("metadata", value)]), "invalid_property",
                        property: path)
                    f.refused(
                        try await ana.call("PATCH", Layer.path(id), [set(path, "x")]), "invalid_property",
                        property: path)
                    f.succeeded(try await ana.call("PATCH", Layer.path(id), [delete(path)]), 204)
                    f.equal(try await ana.load(id)["metadata"], ["kept": "1"])
                }
            },
            Rule(
                "5.1",
                "paths and values of more than 1 MB are 422 metadata, and change nothing; a tree can shrink at any time",
                .doc
            ) { f in
                let ana = try await f.user("ana")
                func values(_ range: Range<Int>) -> JSONValue {
                    .object(
                        Dictionary(
                            uniqueKeysWithValues: range.map { ("k\($0)", .string(String(repeating: "v", count: 2048))) }
                        ))
                }
                let id = try await ana.converse([], metadata: values(100..<500))
                f.refused(
                    try await ana.call("PATCH", Layer.path(id), [set("metadata.more", values(100..<212))]),
                    "invalid_property",
                    property: "metadata")
                f.equal(try await ana.load(id)["metadata"], values(100..<500))
                f.succeeded(try await ana.call("PATCH", Layer.path(id), [set("metadata.more", values(100..<208))]), 204)
                f.succeeded(
                    try await ana.call("PATCH", Layer.path(id), [delete("metadata.more"), set("metadata.k100", "")]),
                    204)
            },
            Rule("5.1", "the number of keys has no limit of its own") { f in
                let ana = try await f.user("ana")
                let tree = JSONValue.object(
                    Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key\($0)", .string("\($0)")) }))
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
            for query in ["", "?sort_by=created_at"] {
                f.equal(try await ana.get("/conversations\(query)").ids, ids.reversed())
            }
        },
        Rule("5.2", "sort_by=last_message lists by the last message, one without by its creation") { f in
            let ana = try await f.user("ana")
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await ana.converse([])) }
            try await ana.send("x", to: ids[1])
            try await ana.send("x", to: ids[0])
            f.equal(try await ana.get("/conversations?sort_by=last_message").ids, [ids[0], ids[1], ids[2]])
            f.equal(
                try await ana.get("/conversations?sort_by=last_message&page_size=1&from_id=\(ids[0])").ids, [ids[1]])
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
        Rule(
            "5.2",
            "conversations the caller was removed from are listed, with participants [] and what was there until then"
        ) { f in
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
        Rule(
            "5.2",
            "conversations the caller deleted on their devices are not listed; those deleted for all are listed for no user"
        ) { f in
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
}
