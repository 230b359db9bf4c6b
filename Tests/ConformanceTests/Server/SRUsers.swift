// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules for identities, status, sessions, following, badges and blocks.
enum SRUsers {
    static let rules: [ServerRule] = identities + status + following + badges + blocks

    private static func path(_ f: ServerFixture, _ name: String = "ana") -> String { "/users/\(f.user(name))" }

    private static let identities: [ServerRule] = [
        ServerRule(
            80,
            "members have a most: longer ones are 422; what is read has all, null where unset, and metadata as an object"
        ) { f in
            for (member, most) in [
                ("display_name", 128), ("first_name", 128), ("avatar_url", 1024), ("phone_number", 32),
                ("email_address", 255),
            ] {
                let value = String(repeating: "x", count: most + 1)
                var body: JSONValue = ["display_name": "Ana"]
                body[member] = .string(value)
                f.refused(try await f.call("POST", path(f) + "/identity", body), "invalid_property", property: member)
            }
            try await f.create("ana")
            let read = try await f.does("GET", path(f) + "/identity")
            for member in ["avatar_url", "first_name", "last_name", "phone_number", "email_address", "public_key"] {
                f.equal(read.object?[member], .null, member)
            }
            f.equal(read["metadata"], [:])
        },
        ServerRule(81, "an identity is created: 201 without a body; it needs a display_name, and is created once") {
            f in
            f.refused(
                try await f.call("POST", path(f) + "/identity", [:]), "missing_property", property: "display_name")
            let answer = try await f.call(
                "POST", path(f) + "/identity", ["display_name": "Ana", "metadata": ["a": "1"]])
            f.equal(answer.status, 201)
            f.check(answer.body.isEmpty, "a body")
            f.equal(try await f.call("POST", path(f) + "/identity", ["display_name": "Ana"]).status, 409)
        },
        ServerRule(82, "an identity is read; without one it is 404") { f in
            f.refused(try await f.call("GET", path(f) + "/identity"), "not_found")
            try await f.create("ana")
            let read = try await f.does("GET", path(f) + "/identity")
            f.equal(read["user_id"].string, f.user("ana"))
            f.equal(read["display_name"].string, "Ana")
        },
        ServerRule(
            83,
            "an identity is patched: 204, and followers are told; without one it is 404; a display_name cannot be deleted"
        ) { f in
            let patch: JSONValue = [
                ["operation": "set", "property": "first_name", "value": "Anna"],
                ["operation": "set", "property": "metadata.a", "value": "1"],
            ]
            f.refused(try await f.call("PATCH", path(f) + "/identity", patch), "not_found")
            try await f.create("ana")
            let ben = try await f.users.user("ben")
            let conversation = try await f.converse("ana", "ben")
            let socket = try await ben.socket()
            try await socket.change("create", "Conversation", conversation["id"].string)
            try await f.does("PATCH", path(f) + "/identity", patch, status: 204)
            try await socket.change("update", "Identity", Layer.identity(f.user("ana")))
            let read = try await f.does("GET", path(f) + "/identity")
            f.equal(read["first_name"].string, "Anna")
            f.equal(read["metadata"], ["a": "1"])
            let deletion: JSONValue = [["operation": "delete", "property": "display_name"]]
            f.equal(try await f.call("PATCH", path(f) + "/identity", deletion).status, 422)
        },
        ServerRule(
            84, "an identity is replaced as a whole: 204; what is left out is null; one that was not there is created"
        ) { f in
            try await f.does("PUT", path(f) + "/identity", ["display_name": "Ana", "first_name": "Anna"], status: 204)
            try await f.does("PUT", path(f) + "/identity", ["display_name": "Ana B"], status: 204)
            let read = try await f.does("GET", path(f) + "/identity")
            f.equal(read["display_name"].string, "Ana B")
            f.equal(read["first_name"], .null)
            f.refused(try await f.call("PUT", path(f) + "/identity", [:]), "missing_property", property: "display_name")
        },
        ServerRule(85, "an identity is deleted: 204; the user and their conversations stay; without one it is 404") {
            f in
            try await f.create("ana")
            let conversation = try await f.converse("ana", "ben")
            try await f.does("DELETE", path(f) + "/identity", status: 204)
            f.refused(try await f.call("DELETE", path(f) + "/identity"), "not_found")
            f.equal(
                f.ids(try await f.does("GET", f.path(conversation))["participants"]), [f.user("ana"), f.user("ben")])
        },
    ]

    private static let status: [ServerRule] = [
        ServerRule(
            86, "a user is suspended: 202; their session is refused within five minutes, and others notice nothing",
            ServerAPIVersion.new
        ) {
            f in
            let ana = try await f.users.user("ana")
            f.equal(try await f.does("GET", path(f))["suspended"], false)
            try await f.does(
                "PATCH", path(f), [["operation": "set", "property": "suspended", "value": true]], status: 202)
            f.equal(try await f.does("GET", path(f))["suspended"], true)
            let deadline = ContinuousClock.now + .seconds(60)
            while try await ana.call("GET", "/conversations").errorID != "user_suspended", .now < deadline {
                try await Task.sleep(for: .milliseconds(200))
            }
            f.equal(try await ana.call("GET", "/conversations").errorID, "user_suspended")
            try await f.does(
                "PATCH", path(f), [["operation": "set", "property": "suspended", "value": false]], status: 202)
        },
        ServerRule(87, "all sessions of a user are ended: 204; sockets are closed, and clients are asked to sign in") {
            f in
            let ana = try await f.users.user("ana")
            let socket = try await ana.socket()
            try await f.does("DELETE", path(f) + "/sessions", status: 204)
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401)
            let deadline = ContinuousClock.now + .seconds(30)
            while try await ana.call("GET", "/conversations").status != 401, .now < deadline {
                try await Task.sleep(for: .milliseconds(100))
            }
            f.users.refused(try await ana.call("GET", "/conversations"), "authentication_required")
        },
        ServerRule(87, "a time for which sessions live that is out of range is 422") { f in
            for seconds: JSONValue in [29, 31_536_001, "60"] {
                let patch: JSONValue = [["operation": "set", "property": "session_ttl_in_seconds", "value": seconds]]
                f.equal(try await f.call("PATCH", "", patch).errorID, "invalid_property", "\(seconds)")
            }
        },
    ]

    private static let following: [ServerRule] = [
        ServerRule(
            88, "a user follows another, and unfollows: 204; who is followed is listed and asked for",
            ServerAPIVersion.new
        ) { f in
            try await f.identify("ana", "ben")
            let ben = path(f) + "/following/\(f.user("ben"))"
            f.equal(try await f.call("GET", ben).status, 404)
            try await f.does("PUT", ben, status: 204)
            try await f.does("GET", ben, status: 204)
            f.equal(try await f.does("GET", path(f) + "/following"), [.string(Layer.identity(f.user("ben")))])
            f.equal(
                try await f.does("GET", path(f) + "/identities").array?.compactMap { $0["user_id"].string },
                [f.user("ben")])
            try await f.does("DELETE", ben, status: 204)
            f.equal(try await f.call("GET", ben).status, 404)
            let many: JSONValue = [.string(f.user("ben")), .string(Layer.identity(f.user("cleo")))]
            try await f.does("POST", path(f) + "/following", many, status: 202)
            f.equal(try await f.does("GET", path(f) + "/following").array?.count, 2)
        },
        ServerRule(88, "a user whose id is \"users\" is followed like any other", ServerAPIVersion.new) { f in
            try await f.identify("ana")
            let users = path(f) + "/following/users"
            f.equal(try await f.call("GET", users).status, 404)
            try await f.does("PUT", users, status: 204)
            try await f.does("GET", users, status: 204)
            f.equal(try await f.does("GET", path(f) + "/following"), [.string(Layer.identity("users"))])
            try await f.does("DELETE", users, status: 204)
            f.equal(try await f.call("GET", users).status, 404)
        },
    ]

    private static let badges: [ServerRule] = [
        ServerRule(
            90,
            "a badge is set: 204 without a body; it is read, and patched: 200 with the three numbers; a negative one is 422"
        ) { f in
            try await f.identify("ana")
            let answer = try await f.call("PUT", path(f) + "/badge", ["external_unread_count": 5])
            f.equal(answer.status, 204)
            f.check(answer.body.isEmpty, "a body")
            let read = try await f.does("GET", path(f) + "/badge", status: 200)
            f.equal(read, ["external_unread_count": 5, "unread_conversation_count": 0, "unread_message_count": 0])
            f.equal(
                try await f.call("PUT", path(f) + "/badge", ["external_unread_count": -1]).errorID, "invalid_property")
            let patch: JSONValue = [["operation": "set", "property": "external_unread_count", "value": 6]]
            f.equal(try await f.does("PATCH", path(f) + "/badge", patch, status: 200)["external_unread_count"].int, 6)
        },
        ServerRule(
            91, "a change of the badge is pushed to the user's devices",
            except:
                "the server sends no push itself; a relay of the operator gets the tokens and the badge with the webhook Push."
        ),
        ServerRule(92, "the badge counts what is unread, and what the app counts itself") { f in
            try await f.identify("ana", "ben")
            let conversation = try await f.converse("ana", "ben")
            _ = try await f.send("hello", from: "ben", to: conversation)
            let badge = try await f.does("GET", path(f) + "/badge")
            f.equal(badge["unread_conversation_count"].int, 1)
            f.equal(badge["unread_message_count"].int, 1)
        },
    ]

    private static let blocks: [ServerRule] = [
        ServerRule(95, "the users whom a user has blocked are listed") { f in
            try await f.identify("ana", "ben")
            f.equal(try await f.does("GET", path(f) + "/blocks"), [])
            try await block(f, "ben", operation: "add")
            try await isBlocking(f, [f.user("ben")])
        },
        ServerRule(96, "a user is blocked: 204, also once more; without one it is 422", ServerAPIVersion.old) { f in
            try await f.identify("ana", "ben")
            for _ in 0..<2 {
                try await f.does("POST", path(f) + "/blocks", ["user_id": .string(f.user("ben"))], status: 204)
            }
            f.equal(try await f.does("GET", path(f) + "/blocks").array?.count, 1)
            f.refused(try await f.call("POST", path(f) + "/blocks", [:]), "missing_property", property: "user_id")
        },
        ServerRule(96, "a user cannot block themselves: 422", ServerAPIVersion.old) { f in
            try await f.identify("ana")
            f.refused(
                try await f.call("POST", path(f) + "/blocks", ["user_id": .string(f.user("ana"))]), "invalid_property",
                property: "user_id")
        },
        ServerRule(97, "a user is unblocked: 204, also one who was not blocked", ServerAPIVersion.old) { f in
            try await f.identify("ana", "ben")
            try await f.does("POST", path(f) + "/blocks", ["user_id": .string(f.user("ben"))])
            for _ in 0..<2 { try await f.does("DELETE", path(f) + "/blocks/\(f.user("ben"))", status: 204) }
            f.equal(try await f.does("GET", path(f) + "/blocks"), [])
        },
        ServerRule(98, "blocks are patched: 202, and messages of the blocked user hide without a word") { f in
            let ana = try await f.users.user("ana")
            try await f.identify("ben", "cleo")
            let conversation = try await f.converse("ana", "ben", "cleo")
            let socket = try await ana.socket()
            try await socket.change("create", "Conversation", conversation["id"].string)
            try await block(f, "ben", operation: "add")
            try await isBlocking(f, [f.user("ben")])
            _ = try await f.send("hidden", from: "ben", to: conversation)
            _ = try await f.send("seen", from: "cleo", to: conversation)
            try await socket.message("seen")
            f.check(
                !socket.history.contains { $0.data["parts"][0]["body"].string == "hidden" },
                "a message of a blocked user came")
            try await block(f, "ben", operation: "remove")
            try await isBlocking(f, [])
        },
        ServerRule(
            98,
            "a patch that has a user block themselves is 422, and changes nothing; one that unblocks them has no effect"
        ) { f in
            try await f.identify("ana", "ben")
            let (ana, ben) = (f.reference(f.user("ana")), f.reference(f.user("ben")))
            for wrong in [
                ["operation": "add", "property": "blocks", "id": ana],
                ["operation": "set", "property": "blocks", "value": [ben, ana]],
            ]
                as [JSONValue]
            {
                let patch: JSONValue = [["operation": "add", "property": "blocks", "value": ben], wrong]
                f.refused(try await f.call("PATCH", path(f), patch), "invalid_property", property: "blocks")
            }
            f.equal(try await f.does("GET", path(f) + "/blocks"), [])
            try await f.does(
                "PATCH", path(f), [["operation": "remove", "property": "blocks", "value": ana]], status: 202)
        },
        ServerRule(98, "an id that is empty or null is none; all are set by value, or by id") { f in
            try await f.identify("ana", "ben", "cleo")
            func patch(_ operation: JSONValue) async throws {
                try await f.does("PATCH", path(f), [operation], status: 202)
            }
            let (ben, cleo) = (f.reference(f.user("ben")), f.reference(f.user("cleo")))
            try await patch(["operation": "add", "property": "blocks", "id": "", "value": ben])
            try await patch(["operation": "add", "property": "blocks", "id": .null, "value": cleo])
            try await isBlocking(f, [f.user("ben"), f.user("cleo")])
            try await patch(["operation": "remove", "property": "blocks", "id": "", "value": ben])
            try await isBlocking(f, [f.user("cleo")])
            try await patch(["operation": "set", "property": "blocks", "id": []])
            try await isBlocking(f, [])
        },
    ]

    private static func block(_ f: ServerFixture, _ name: String, operation: String) async throws {
        let patch: JSONValue = [
            "operation": .string(operation), "property": "blocks", f.isOld ? "value" : "id": f.reference(f.user(name)),
        ]
        try await f.does("PATCH", path(f), [patch], status: 202)
    }

    /// Waits until the block list has these users. A patch of blocks is applied after its answer.
    private static func isBlocking(_ f: ServerFixture, _ blocked: Set<String>) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        func read() async throws -> Set<String> {
            Set(try await f.does("GET", path(f) + "/blocks").array?.compactMap { $0["user_id"].string } ?? [])
        }
        while try await read() != blocked, .now < deadline { try await Task.sleep(for: .milliseconds(50)) }
        f.equal(try await read(), blocked)
    }
}
