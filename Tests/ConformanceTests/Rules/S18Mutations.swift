// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules of section 18.1: idempotent changes, and the positions in their answers.
enum S18Mutations {
    /// A named change, which can be requested repeatedly.
    private struct Named {
        let user: User
        let method: String
        let path: String
        let body: JSONValue?
        let name = Layer.uuid()

        init(_ user: User, _ method: String, _ path: String, _ body: JSONValue? = nil) {
            self.user = user
            self.method = method
            self.path = path
            self.body = body
        }

        func ask() async throws -> RESTResponse {
            try await user.call(method, path, body, headers: ["Strata-Mutation": name])
        }
    }

    private static func places(_ answer: RESTResponse) -> [String?] {
        [answer.header("Strata-Position"), answer.header("Strata-User-Position")]
    }

    /// Requests a change, runs `between`, and repeats the request. Both answers must be equal.
    private static func twice(
        _ f: Fixture, _ change: Named, _ status: Int, line: UInt = #line, between: () async throws -> Void
    ) async throws -> (first: RESTResponse, again: RESTResponse) {
        let first = try await change.ask()
        f.succeeded(first, status, line: line)
        try await between()
        let again = try await change.ask()
        f.succeeded(again, status, line: line)
        f.equal(places(again), places(first), "where it is told", line: line)
        return (first, again)
    }

    private static func rule(_ text: String, _ check: @escaping @Sendable (Fixture) async throws -> Void) -> Rule {
        Rule("18.1", text, .doc, check: check)
    }

    static let rules: [Rule] = conversations + messages + people + names + places

    private static let conversations: [Rule] = [
        rule("a repeated patch of metadata leaves what another user has set since") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let change = Named(
                users[0], "PATCH", Layer.path(id), [set("metadata.a.b", "ana's"), set("metadata.c", "c")])
            _ = try await twice(f, change, 204) {
                try await users[1].patch(id, set("metadata.a.b", "ben's"), delete("metadata.c"))
            }
            f.equal(try await users[0].load(id)["metadata"], ["a": ["b": "ben's"]])
        },
        rule("a repeated patch does not add again a user who was removed since, nor remove a user who was added again")
        { f in
            let users = try await f.users("ana", "ben", "cay")
            let id = try await users[0].converse(users[1])
            let adding = Named(users[0], "PATCH", Layer.path(id), [add(users[2]), set("metadata.a", "1")])
            _ = try await twice(f, adding, 204) {
                try await users[1].patch(id, remove(users[2]), set("metadata.a", "2"))
            }
            f.equal(try await users[0].load(id)["participants"].array?.count, 2)
            f.equal(try await users[0].load(id)["metadata"], ["a": "2"])
            let removing = Named(users[0], "PATCH", Layer.path(id), [remove(users[1])])
            _ = try await twice(f, removing, 204) { try await users[0].patch(id, add(users[1])) }
            f.equal(try await users[0].load(id)["participants"].array?.count, 2)
        },
        rule("a patch that had no effect has none when it is repeated") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1], metadata: ["a": "1"])
            let change = Named(users[0], "PATCH", Layer.path(id), [set("metadata.a", "1")])
            _ = try await twice(f, change, 204) { try await users[1].patch(id, set("metadata.a", "2")) }
            f.equal(try await users[0].load(id)["metadata"], ["a": "2"])
        },
        rule("a change is repeated with the first answer also by a user who was removed since") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let change = Named(users[1], "PATCH", Layer.path(id), [set("metadata.a", "1")])
            _ = try await twice(f, change, 204) { try await users[0].patch(id, remove(users[1])) }
            f.refused(try await users[1].call("PATCH", Layer.path(id), [set("metadata.a", "2")]), "access_denied")
        },
        rule("a repeated create makes no second conversation, with an id, without one, and of a distinct one") { f in
            let users = try await f.users("ana", "ben", "cay")
            for body in [
                User.conversation([users[1].id]), User.conversation([users[1].id], id: Layer.newConversation()),
                User.conversation([users[2].id], distinct: true),
            ] {
                let count = try await users[0].get("/conversations").array?.count ?? 0
                let answers = try await twice(f, Named(users[0], "POST", "/conversations", body), 201) {}
                f.equal(answers.again.json, answers.first.json)
                f.equal(try await users[0].get("/conversations").array?.count, count + 1)
            }
            let found = try await twice(
                f, Named(users[2], "POST", "/conversations", User.conversation([users[0].id], distinct: true)), 200
            ) {}
            f.equal(found.again.json["id"], found.first.json["id"])
        },
        rule("a create that is repeated after the conversation was deleted is 404, and makes no other") { f in
            let users = try await f.users("ana", "ben")
            let change = Named(users[0], "POST", "/conversations", User.conversation([users[1].id], distinct: true))
            let id = try f.need(try await change.ask().json["id"].string, "id")
            try await users[1].does("DELETE", Layer.path(id) + "?mode=all_participants")
            f.refused(try await change.ask(), "not_found")
            f.equal(try await users[0].get("/conversations"), [])
        },
        rule("a repeated deletion from the own devices leaves what came since") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[1].send("before", to: id)
            let change = Named(users[0], "DELETE", Layer.path(id) + "?mode=my_devices")
            _ = try await twice(f, change, 204) { try await users[1].send("after", to: id) }
            let seen = try await users[0].get(Layer.path(id) + "/messages").array ?? []
            f.equal(seen.compactMap { $0["parts"][0]["body"].string }, ["after"])
        },
        rule("a repeated deletion for all is 204 like the first") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            _ = try await twice(f, Named(users[0], "DELETE", Layer.path(id) + "?mode=all_participants"), 204) {}
        },
        rule("a repeated mark_all_read leaves unread what came since") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].send("before", to: id)
            _ = try await twice(f, Named(users[1], "POST", Layer.path(id) + "/mark_all_read", [:]), 204) {
                try await users[0].send("after", to: id)
            }
            f.equal(try await users[1].load(id)["unread_message_count"], 1)
        },
    ]

    private static let messages: [Rule] = [
        rule("a repeated message is the same one, with an id and without") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for body in [User.message("x"), User.message("y", id: Layer.newMessage())] {
                let answers = try await twice(f, Named(users[0], "POST", Layer.path(id) + "/messages", body), 201) {}
                f.equal(answers.again.json["id"], answers.first.json["id"])
                f.equal(answers.again.json["position"], answers.first.json["position"])
            }
            f.equal(try await users[1].get(Layer.path(id) + "/messages").array?.count, 2)
        },
        rule("a message that is repeated after it was deleted is 404, and is not sent again") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let change = Named(users[0], "POST", Layer.path(id) + "/messages", User.message("x"))
            let message = try f.need(try await change.ask().json["id"].string, "id")
            try await users[1].does("DELETE", Layer.path(message) + "?mode=all_participants")
            f.refused(try await change.ask(), "not_found")
            f.equal(try await users[1].get(Layer.path(id) + "/messages"), [])
        },
        rule("a repeated deletion of a message is 204 like the first, in both modes") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for mode in ["my_devices", "all_participants"] {
                let message = try await users[0].sendID("x", to: id)
                _ = try await twice(f, Named(users[1], "DELETE", Layer.path(message) + "?mode=\(mode)"), 204) {}
            }
        },
        rule("a repeated receipt is 204 like the first, also of a user who was removed since") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: id)
            for type in ["delivery", "read"] {
                let change = Named(users[1], "POST", Layer.path(message) + "/receipts", ["type": .string(type)])
                _ = try await twice(f, change, 204) {}
                f.equal(
                    try await users[0].load(message)["recipient_status"][users[1].id],
                    type == "read" ? "read" : "delivered")
            }
            let change = Named(users[1], "POST", Layer.path(message) + "/receipts", ["type": "read"])
            _ = try await twice(f, change, 204) { try await users[0].patch(id, remove(users[1])) }
        },
        rule("repeated receipts of many messages are 200 like the first, with what is not there now") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            var messages: [String] = []
            for text in ["1", "2", "3"] { messages.append(try await users[0].sendID(text, to: id)) }
            let body: JSONValue = ["type": "read", "ids": .array(messages.map { .string($0) })]
            let change = Named(users[1], "POST", Layer.path(id) + "/receipts", body)
            let answers = try await twice(f, change, 200) {
                try await users[0].does("DELETE", Layer.path(messages[1]) + "?mode=all_participants")
            }
            f.equal(answers.first.json["ignored"], [])
            f.equal(answers.again.json["ignored"], [.string(messages[1])])
            f.check(answers.first.header("Strata-Position") != nil, "no position")
            f.equal(try await users[1].load(id)["unread_message_count"], 0)
        },
        Rule(
            "18.1", "a repeated edit of a part leaves what was edited since, and adds no second part", .doc,
            versions: [.v3]
        ) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("first", to: id)
            let parts = Layer.path(message) + "/parts"
            func text(_ text: String) -> JSONValue { ["mime_type": "text/plain", "body": .string(text)] }
            let added = try await twice(f, Named(users[0], "POST", parts, text("added")), 201) {}
            f.equal(added.again.json["id"], added.first.json["id"])
            let part = Layer.path(try f.need(added.first.json["id"].string, "id of the part"))
            let replaced = try await twice(f, Named(users[0], "PUT", part, text("second")), 200) {
                try await users[0].does("PUT", part, text("third"))
            }
            f.equal(replaced.again.json["body"], "third")
            _ = try await twice(f, Named(users[0], "PUT", part, text("third")), 200) {
                try await users[0].does("PUT", part, text("fourth"))
            }
            f.equal((try await users[1].get(parts).array ?? []).compactMap { $0["body"].string }, ["first", "fourth"])
            let removal = Named(users[0], "DELETE", part)
            _ = try await twice(f, removal, 204) {}
            _ = try await twice(f, Named(users[0], "PUT", parts, [text("all")]), 200) {
                try await users[0].does("POST", parts, text("more"))
            }
            f.equal((try await users[1].get(parts).array ?? []).compactMap { $0["body"].string }, ["all", "more"])
            // The answer to a removal shows no part, so a repetition succeeds even if the message no longer exists.
            try await users[0].does("DELETE", Layer.path(message) + "?mode=all_participants")
            f.succeeded(try await removal.ask(), 204)
        },
    ]

    private static let people: [Rule] = [
        rule("repeated following and unfollowing undo nothing that came since") { f in
            let ana = try await f.user("ana")
            let other = f.stranger("other")
            let path = "/following/users/\(other)"
            for (method, path, body, status) in [
                ("PUT", path, nil, 204), ("POST", "/following/users", .array([.string(Layer.identity(other))]), 202),
            ] as [(String, String, JSONValue?, Int)] {
                _ = try await twice(f, Named(ana, method, path, body), status) {
                    try await ana.does("DELETE", "/following/users/\(other)")
                }
                f.equal(try await ana.call("GET", "/following/users/\(other)").status, 404)
            }
            try await ana.does("PUT", path)
            _ = try await twice(f, Named(ana, "DELETE", path), 204) { try await ana.does("PUT", path) }
            f.equal(try await ana.call("GET", path).status, 204)
        },
        rule("a repeated push token does not replace a newer one: 202") { f in
            let ana = try await f.user("ana")
            func token(_ text: String) -> JSONValue {
                ["device_id": .string("d\(ana.userID)"), "type": "gcm", "token": .string(text), "gcm_sender_id": "1"]
            }
            _ = try await twice(f, Named(ana, "POST", "/push_tokens", token("old")), 202) {
                try await ana.does("POST", "/push_tokens", token("new"))
            }
            _ = try await twice(f, Named(ana, "DELETE", "/push_tokens/d\(ana.userID)"), 202) {
                try await ana.does("POST", "/push_tokens", token("x"))
            }
        },
        rule("repeated content has the same id, and is announced once") { f in
            let ana = try await f.user("ana")
            let name = Layer.uuid()
            func announce(_ size: String) async throws -> RESTResponse {
                let headers = [
                    "Strata-Mutation": name, "Upload-Content-Length": size, "Upload-Content-Type": "image/png",
                ]
                return try await ana.call("POST", "/content", headers: headers)
            }
            let first = try await announce("3000")
            f.succeeded(first, 201)
            f.equal(try await announce("3000").json["id"], first.json["id"])
            f.check(try await announce("3001").json["id"] != first.json["id"], "another size, and the same content")
        },
    ]

    private static let names: [Rule] = [
        rule("what was refused is not remembered: it is tried again") { f in
            let users = try await f.users("ana", "ben", "cay")
            let id = try await users[0].converse(users[1])
            let change = Named(users[2], "POST", Layer.path(id) + "/messages", User.message("x"))
            f.refused(try await change.ask(), "not_found")
            try await users[0].patch(id, add(users[2]))
            _ = try await twice(f, change, 201) {}
        },
        rule("the same name asked for by many requests at once is carried out once") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let change = Named(users[0], "POST", Layer.path(id) + "/messages", User.message("x"))
            let ids = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<8 { group.addTask { try await change.ask().json["id"].string } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            f.equal(Set(ids).count, 1)
            f.equal(try await users[1].get(Layer.path(id) + "/messages").array?.count, 1)
        },
        rule("two users may give two changes the same name") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let name = Layer.uuid()
            for user in users {
                let path = Layer.path(id) + "/messages"
                f.succeeded(
                    try await user.call("POST", path, User.message("x"), headers: ["Strata-Mutation": name]), 201)
            }
            f.equal(try await users[1].get(Layer.path(id) + "/messages").array?.count, 2)
        },
        rule("the name of another request is 406 invalid_header, with the name of the header, and changes nothing") {
            f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let change = Named(users[0], "POST", Layer.path(id) + "/messages", User.message("x"))
            f.succeeded(try await change.ask(), 201)
            let headers = ["Strata-Mutation": change.name]
            f.refused(
                try await users[0].call("POST", change.path, User.message("y"), headers: headers), "invalid_header",
                header: "Strata-Mutation")
            f.refused(
                try await users[0].call("PATCH", Layer.path(id), [set("metadata.a", "1")], headers: headers),
                "invalid_header",
                header: "Strata-Mutation")
            f.equal(try await users[1].get(Layer.path(id) + "/messages").array?.count, 1)
            f.equal(try await users[1].load(id)["metadata"], [:])
        },
        rule(
            "a name that is no UUID is 406 invalid_header; a request that changes nothing needs none, and may have any"
        ) { f in
            let ana = try await f.user("ana")
            for name in ["x", "1", "layer:///messages/\(Layer.uuid())", String(Layer.uuid().dropLast())] {
                let headers = ["Strata-Mutation": name]
                f.refused(
                    try await ana.call("POST", "/conversations", User.conversation([f.stranger()]), headers: headers),
                    "invalid_header",
                    header: "Strata-Mutation")
                f.succeeded(try await ana.call("GET", "/conversations", headers: headers), 200)
            }
        },
        rule("a name in capital letters is the same name") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let name = Layer.uuid()
            for name in [name, name.uppercased()] {
                let path = Layer.path(id) + "/messages"
                f.succeeded(
                    try await users[0].call("POST", path, User.message("x"), headers: ["Strata-Mutation": name]), 201)
            }
            f.equal(try await users[1].get(Layer.path(id) + "/messages").array?.count, 1)
        },
        rule("browsers may send Strata-Mutation, and may read Strata-Position and Strata-User-Position") { f in
            let origin = "https://app.example.com"
            let preflight = try await f.client.call(
                "OPTIONS", "/conversations",
                headers: [
                    "Origin": origin, "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "strata-mutation",
                ],
                deadline: Fixture.deadline)
            f.check(
                preflight.header("Access-Control-Allow-Headers")?.lowercased().contains("strata-mutation") == true,
                "\(preflight.headers)")
            let answer = try await f.client.call(
                "POST", "/nonces", headers: ["Origin": origin], deadline: Fixture.deadline)
            for name in ["strata-position", "strata-user-position"] {
                f.check(
                    answer.header("Access-Control-Expose-Headers")?.lowercased().contains(name) == true,
                    "\(answer.headers)")
            }
        },
    ]

    /// Expects a packet about the change with the positions from its answer.
    private static func isTold(
        _ f: Fixture, _ socket: ProtocolSocket, _ answer: RESTResponse, _ operation: String, _ type: String,
        _ id: String, line: UInt = #line
    ) async throws {
        let position = answer.header("Strata-Position").flatMap { Int($0) }
        let userPosition = answer.header("Strata-User-Position").flatMap { Int($0) }
        f.check(position != nil || userPosition != nil, "no position in the answer", line: line)
        _ = try await socket.nextPacket("\(type) \(operation) \(id) at \(answer.headers)", deadline: Fixture.deadline) {
            $0.isChange(operation, of: type, id: id) && $0.body["position"].int == position
                && $0.body["user_position"].int == userPosition
        }
    }

    private static let places: [Rule] = [
        rule("the answer to every change says the position of the packets about it") { f in
            let users = try await f.users("ana", "ben")
            let (ana, ben) = (users[0], users[1])
            let socket = try await ana.socket()
            let created = try await ana.does("POST", "/conversations", User.conversation([ben.id]))
            let id = try f.need(created.json["id"].string, "id")
            try await isTold(f, socket, created, "create", "Conversation", id)
            try await isTold(
                f, socket, try await ana.does("PATCH", Layer.path(id), [set("metadata.a", "1")]), "update",
                "Conversation", id)
            let sent = try await ana.does("POST", Layer.path(id) + "/messages", User.message("x"))
            let own = try f.need(sent.json["id"].string, "id of the message")
            try await isTold(f, socket, sent, "create", "Message", own)
            for text in ["1", "2"] {
                let message = try await ben.sendID(text, to: id)
                let read = try await ana.does("POST", Layer.path(message) + "/receipts", ["type": "read"])
                try await isTold(f, socket, read, "update", "Message", message)
            }
            try await ben.send("3", to: id)
            let all = try await ana.does("POST", Layer.path(id) + "/mark_all_read", [:])
            f.check(all.header("Strata-Position") != nil, "no position of mark_all_read")
            try await isTold(
                f, socket, try await ana.does("DELETE", Layer.path(own) + "?mode=all_participants"), "delete",
                "Message", own)
            try await isTold(
                f, socket, try await ana.does("DELETE", Layer.path(id) + "?mode=my_devices"), "delete", "Conversation",
                id)
        },
        rule(
            "the answer to a patch by which its author leaves says the position of the leaving, the last that they are told of"
        ) { f in
            let users = try await f.users("ana", "ben")
            let socket = try await users[0].socket()
            for headers in [[:], ["Strata-Mutation": Layer.uuid()]] {
                let id = try await users[0].converse(users[1])
                try await socket.change("create", "Conversation", id)
                let answer = try await users[0]
                    .call(
                        "PATCH", Layer.path(id), [remove(users[0]), set("metadata.last", .string(Layer.uuid()))],
                        headers: headers)
                f.succeeded(answer, 204)
                let position = try f.need(answer.header("Strata-Position").flatMap { Int($0) }, "Strata-Position")
                let left = try await socket.change("update", "Conversation", id) { $0.has("remove", "participants") }
                f.equal(left.body["position"].int, position)
            }
        },
        rule("the answer to following says the user_position of the packets about it") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let other = f.stranger("other")
            let followed = try await ana.does("PUT", "/following/users/\(other)")
            f.check(followed.header("Strata-Position") == nil, "a position of no conversation")
            try await isTold(f, socket, followed, "create", "Identity", Layer.identity(other))
            try await isTold(
                f, socket, try await ana.does("DELETE", "/following/users/\(other)"), "delete", "Identity",
                Layer.identity(other))
        },
        rule("the answer to a named change without effect says a position that the client has been told of") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            let last = (try await scene.ana.load(message)["position"].int ?? 0) / 8192
            let change = Named(scene.ana, "PATCH", Layer.path(scene.conversation), [delete("metadata.nothing")])
            let answer = try await change.ask()
            f.succeeded(answer, 204)
            let position = try f.need(answer.header("Strata-Position").flatMap { Int($0) }, "Strata-Position")
            f.check(position >= last, "\(position) before \(last)")
            let read = Named(scene.ana, "POST", Layer.path(message) + "/receipts", ["type": "read"])
            f.check(
                (try await read.ask().header("Strata-Position").flatMap { Int($0) } ?? 0) >= last,
                "the position of a receipt without effect")
            let unfollowed = Named(scene.ana, "DELETE", "/following/users/\(f.stranger())")
            f.check(try await unfollowed.ask().header("Strata-User-Position") != nil, "no user position")
        },
    ]
}
