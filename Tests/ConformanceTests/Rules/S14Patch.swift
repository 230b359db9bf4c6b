// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules of section 14: the layer-patch format, applied to a conversation.
enum S14 {
    /// A rule on the metadata that operations result in.
    private static func gives(
        _ section: String, _ text: String, from start: JSONValue, _ operations: JSONValue, _ result: JSONValue
    ) -> Rule {
        Rule(section, text) { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([], metadata: start)
            f.succeeded(try await ana.call("PATCH", Layer.path(id), operations), 204)
            f.equal(try await ana.load(id)["metadata"], result)
        }
    }

    /// A rule on operations that are refused and change nothing.
    private static func refuses(
        _ section: String, _ text: String, from start: JSONValue = ["a": "1"], is error: String? = nil,
        property: String? = nil,
        _ operations: JSONValue
    ) -> Rule {
        Rule(section, text) { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([], metadata: start)
            let answer = try await ana.call("PATCH", Layer.path(id), operations)
            if let error {
                f.refused(answer, error, property: property)
            } else {
                f.check(answer.status == 422 || answer.status == 400, "\(answer.status) \(answer.json)")
            }
            f.equal(try await ana.load(id)["metadata"], start)
        }
    }

    static let rules: [Rule] = [
        refuses(
            "14.1", "an operation that is none is 400", is: "invalid_request",
            [["operation": "move", "property": "metadata.a"]]),
        refuses(
            "14.1", "an operation without a name is 400", is: "invalid_request",
            [["property": "metadata.a", "value": "x"]]),
        refuses(
            "14.1", "an operation without a property is 400", is: "invalid_request",
            [["operation": "set", "value": "x"]]),
        refuses(
            "14.1", "a property that is no string is 400", is: "invalid_request",
            [["operation": "set", "property": 5, "value": "x"]]),
        gives("14.1", "an empty array is valid and does nothing", from: ["a": "1"], [], ["a": "1"]),
        gives(
            "14.1", "operations are executed in order", from: [:],
            [set("metadata.a", ["b": "1"]), set("metadata.a.c", "2"), delete("metadata.a.b")],
            ["a": ["c": "2"]]),
        gives(
            "14.2", "set replaces objects whole", from: ["a": ["b": "1", "c": "2"]], [set("metadata.a", ["d": "3"])],
            ["a": ["d": "3"]]),
        gives(
            "14.2", "set puts a value where an object was", from: ["a": ["b": "1"]], [set("metadata.a", "x")],
            ["a": "x"]),
        gives(
            "14.2", "missing intermediate keys are created as objects", from: [:], [set("metadata.a.b.c", "1")],
            ["a": ["b": ["c": "1"]]]),
        gives(
            "14.2", "delete of a missing key is no error", from: ["a": "1"],
            [delete("metadata.b"), delete("metadata.b.c")], ["a": "1"]),
        refuses("14.2", "set without value or id is refused", [["operation": "set", "property": "metadata.b"]]),
        refuses(
            "14.2", "delete of a top-level property is refused", [["operation": "delete", "property": "metadata"]]),
        refuses(
            "14.2", "delete of the participants is refused", [["operation": "delete", "property": "participants"]]),
        refuses(
            "14.2", "set of a key to null is refused, since metadata has only strings and objects",
            [set("metadata.a", nil)]),
        refuses(
            "14.2", "add on a value that is no array is refused",
            [["operation": "add", "property": "metadata.a", "value": "x"]]),
        refuses(
            "14.2", "remove on a value that is no array is refused",
            [["operation": "remove", "property": "metadata.a", "value": "x"]]),
        refuses(
            "14.2", "a new top-level property is never created", is: "invalid_property", property: "colour",
            [set("colour", "blue")]),
        Rule("14.2", "walking through a value that is no object is refused, or makes it one") { f in
            let ana = try await f.user("ana")
            let id = try await ana.converse([], metadata: ["a": "1"])
            let answer = try await ana.call("PATCH", Layer.path(id), [set("metadata.a.b", "2")])
            // A server may refuse the patch or let the later path win, but must not apply it in part.
            let metadata = try await ana.load(id)["metadata"]
            f.equal(metadata, answer.isSuccess ? ["a": ["b": "2"]] : ["a": "1"])
        },
        Rule("14.2", "index is refused with invalid_property index", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            let operation: JSONValue = [
                "operation": "add", "property": "participants", "id": .string(users[1].id), "index": 0,
            ]
            f.refused(
                try await users[0].call("PATCH", Layer.path(id), [operation]), "invalid_property", property: "index")
            f.equal(try await users[0].load(id)["participants"].ids.count, 1)
        },
        refuses(
            "14.2", "path in place of property is refused", is: "invalid_request",
            [["operation": "set", "path": "metadata.a", "value": "x"]]),
        refuses(
            "14.3", "an escaped dot makes a key with a dot, which metadata cannot have", is: "invalid_property",
            [set("metadata.a\\.b", "x")]),
        refuses("14.3", "a key that ends in a backslash is refused", [set("metadata.a\\", "x")]),
        refuses(
            "14.3",
            "a backslash before another character is that character: a\\b is ab, and is set or refused as a whole",
            [set("metadata.\\ ", "x")]
        ),
        Rule("14.3", "generated segments have their dots escaped") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            try await scene.ben.receipt("read", message)
            let update = try await scene.acting.change("update", "Message", message)
            f.equal(
                ReceivedPacket.segments(update.data[0]["property"].string ?? ""), ["recipient_status", scene.ben.id])
        },
        Rule("14.4", "property names are in snake case, and keys of metadata are left as they are") { f in
            let scene = try await Scene(f)
            let seen = try await scene.seen {
                try await scene.ana.patch(scene.conversation, set("metadata.fooBar.baz_Qux-1", "x"))
            }
            for packets in seen { f.equal(packets.map(\.summary), ["C update set metadata.fooBar.baz_Qux-1"]) }
        },
        Rule("14.5", "effective operations are announced, in terms that give what a reader loads") { f in
            let scene = try await Scene(f, metadata: ["a": ["b": "1"], "c": "2"])
            let seen = try await scene.seen {
                try await scene.ana.patch(
                    scene.conversation, set("metadata.c", "2"), delete("metadata.a.b"), set("metadata.d", "3"))
            }
            f.equal(try await scene.ana.load(scene.conversation)["metadata"], ["c": "2", "d": "3"])
            for packets in seen { f.equal(packets.map(\.summary), ["C update delete metadata.a, set metadata.d"]) }
        },
        Rule("14.5", "set participants is announced as additions and removals with ids", .doc) { f in
            let scene = try await Scene(f)
            let cleo = try await f.user("cleo")
            let seen = try await scene.seen(on: [scene.acting, scene.own]) {
                try await scene.ana.patch(
                    scene.conversation, set("participants", [.string(scene.ana.id), .string(cleo.id)]))
            }
            for packets in seen {
                f.equal(packets.map(\.summary), ["C update add participants, remove participants"])
                f.check(packets.first?.data.has("add", "participants", id: cleo.id) == true, "\(packets)")
                f.check(packets.first?.data.has("remove", "participants", id: scene.ben.id) == true, "\(packets)")
            }
        },
    ]
}
