// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules of section 9: announcements. They are sent with the operator's command.
enum S09 {
    private static let sender = "Strata Team"

    private static func announce(_ f: Fixture, _ text: String, to users: [User]) async throws {
        guard let strata = f.system.strata else { throw HarnessError("there is no operator's command") }
        var words = ["announce", "--app", f.app.id, "--from", sender]
        for user in users { words += ["--to", user.userID] }
        try await strata.run(words: words + [text])
    }

    /// A rule that requires the operator's command.
    private static func rule(_ text: String, _ check: @escaping @Sendable (Fixture) async throws -> Void) -> Rule {
        Rule("9", text) { f in
            guard f.system.strata != nil else { return f.skip("there is no operator's command") }
            try await check(f)
        }
    }

    static let rules: [Rule] = [
        rule("GET /announcements is 200 with announcements, newest first, and Layer-Count") { f in
            let users = try await f.users("ana", "ben")
            for text in ["first", "second"] { try await announce(f, text, to: users) }
            for user in users {
                let answer = try await user.call("GET", "/announcements")
                f.succeeded(answer, 200)
                f.equal(answer.header("Layer-Count"), "2")
                f.equal((answer.json.array ?? []).compactMap { $0["parts"][0]["body"].string }, ["second", "first"])
            }
        },
        rule("GET /announcements comes page by page") { f in
            let ana = try await f.user("ana")
            for text in ["1", "2", "3"] { try await announce(f, text, to: [ana]) }
            let first = try await ana.does("GET", "/announcements?page_size=2")
            f.equal(first.json.ids.count, 2)
            f.equal(first.header("Layer-Count"), "3")
            let rest = try await ana.does("GET", "/announcements?page_size=2&from_id=\(first.json.ids.last ?? "")")
            f.equal((rest.json.array ?? []).compactMap { $0["parts"][0]["body"].string }, ["1"])
            f.equal(rest.header("Layer-Count"), "3")
            f.equal(try await S01Lists.follow(ana, "/announcements", pageSize: 2), [first.json.ids, rest.json.ids])
        },
        rule(
            "an announcement is a message without a conversation, of a named sender, that shows the caller's status only"
        ) { f in
            let users = try await f.users("ana", "ben")
            try await announce(f, "hello", to: users)
            let object = try await users[0].get("/announcements")[0]
            let path = Layer.path(object["id"].string ?? "")
            f.check(path.wholeMatch(of: /\/announcements\/[0-9a-f-]{36}/) != nil, path)
            f.equal(object["url"].string, f.system.publicURL + path)
            f.equal(object["receipts_url"].string, f.system.publicURL + path + "/receipts")
            f.check(object["conversation"].isNull, "conversation \(object["conversation"])")
            f.equal(object["recipient_status"], .object([users[0].id: "sent"]))
            f.equal(object["is_unread"], true)
            f.check((object["position"].int ?? -1) >= 0, "position \(object["position"])")
            f.check(Layer.isTimestamp(object["sent_at"].string), "sent_at")
            f.equal(object["parts"][0]["mime_type"], "text/plain")
            f.equal(object["parts"][0]["body"], "hello")
            f.check(
                object["parts"][0]["id"].string?.hasPrefix("layer://\(path)/parts/") == true,
                "\(object["parts"][0]["id"])")
            f.check(object["sender"].object != nil, "sender \(object["sender"])")
            f.equal(object["sender"]["display_name"].string ?? object["sender"]["name"].string, sender)
            f.check(object["sender"]["user_id"].isNull, "user_id of the sender")
        },
        rule("GET /announcements/:uuid is 200 with it for its recipients, 404 for others") { f in
            let users = try await f.users("ana", "ben")
            try await announce(f, "hello", to: [users[0]])
            let object = try await users[0].get("/announcements")[0]
            let path = Layer.path(object["id"].string ?? "")
            let answer = try await users[0].call("GET", path)
            f.succeeded(answer, 200)
            f.equal(answer.json, object)
            f.refused(try await users[1].call("GET", path), "not_found")
            f.refused(try await users[0].call("GET", "/announcements/\(Layer.uuid())"), "not_found")
            f.equal(try await users[1].get("/announcements"), [])
        },
        rule("receipts are 204 and change the caller's status: delivered, then read") { f in
            let users = try await f.users("ana", "ben")
            try await announce(f, "hello", to: users)
            let path = Layer.path(try await users[0].get("/announcements")[0]["id"].string ?? "")
            for (type, status) in [("delivery", "delivered"), ("read", "read"), ("delivery", "read")] {
                f.succeeded(try await users[0].call("POST", path + "/receipts", ["type": .string(type)]), 204)
                let object = try await users[0].get(path)
                f.equal(object["recipient_status"], .object([users[0].id: .string(status)]))
                f.equal(object["is_unread"].bool, status != "read")
            }
            f.equal(try await users[1].get(path)["is_unread"], true)
        },
        rule("receipts of another type are 422, of what is not there 404") { f in
            let users = try await f.users("ana", "ben")
            try await announce(f, "hello", to: [users[0]])
            let path = Layer.path(try await users[0].get("/announcements")[0]["id"].string ?? "") + "/receipts"
            f.refused(try await users[0].call("POST", path, ["type": "x"]), "invalid_property", property: "type")
            f.refused(try await users[0].call("POST", path, [:]), "missing_property", property: "type")
            f.refused(try await users[1].call("POST", path, ["type": "read"]), "not_found")
        },
        rule("DELETE is 204, without a mode, and for the caller only") { f in
            let users = try await f.users("ana", "ben")
            try await announce(f, "hello", to: users)
            let path = Layer.path(try await users[0].get("/announcements")[0]["id"].string ?? "")
            f.succeeded(try await users[0].call("DELETE", path), 204)
            f.refused(try await users[0].call("GET", path), "not_found")
            f.refused(try await users[0].call("DELETE", path), "not_found")
            let list = try await users[0].does("GET", "/announcements")
            f.equal(list.json, [])
            f.equal(list.header("Layer-Count"), "0")
            f.succeeded(try await users[1].call("GET", path), 200)
        },
        rule("each recipient's sockets get an Announcement create") { f in
            let users = try await f.users("ana", "ben")
            let sockets = [
                try await users[0].socket(), try await users[0].socket(gateway: 1), try await users[1].socket(),
            ]
            try await announce(f, "hello", to: users)
            for (socket, user) in zip(sockets, [users[0], users[0], users[1]]) {
                let packet = try await socket.change("create", "Announcement")
                f.equal(packet.data, try await user.get("/announcements")[0])
                f.equal(packet.body["object"]["url"], packet.data["url"])
            }
        },
        rule("the reader's own sockets get an Announcement update, no other user's do") { f in
            let users = try await f.users("ana", "ben")
            let sockets = [
                try await users[0].socket(), try await users[0].socket(gateway: 1), try await users[1].socket(),
            ]
            try await announce(f, "hello", to: users)
            var id = ""
            for socket in sockets { id = try await socket.change("create", "Announcement").objectID ?? "" }
            for type in ["read", "read"] {
                try await users[0].does("POST", Layer.path(id) + "/receipts", ["type": .string(type)])
            }
            for socket in sockets[0...1] {
                let update = try await socket.change("update", "Announcement", id)
                f.equal(update.summary, "A update set recipient_status.ana")
                f.equal(update.data[0]["value"], "read")
            }
            try await announce(f, "fence", to: users)
            for socket in sockets { try await socket.change("create", "Announcement") }
            f.check(!sockets[2].history.contains { $0.isChange("update", of: "Announcement") }, "Ben was told")
            f.equal(sockets[0].history.filter { $0.isChange("update", of: "Announcement") }.count, 1)
        },
        rule("the deleting user's own sockets get an Announcement delete with mode my_devices") { f in
            let users = try await f.users("ana", "ben")
            let sockets = [
                try await users[0].socket(), try await users[0].socket(gateway: 1), try await users[1].socket(),
            ]
            try await announce(f, "hello", to: users)
            var id = ""
            for socket in sockets { id = try await socket.change("create", "Announcement").objectID ?? "" }
            try await users[0].does("DELETE", Layer.path(id))
            for socket in sockets[0...1] {
                f.equal(try await socket.change("delete", "Announcement", id).data, ["mode": "my_devices"])
            }
            try await announce(f, "fence", to: users)
            try await sockets[2].change("create", "Announcement")
            f.check(!sockets[2].history.contains { $0.isChange("delete", of: "Announcement") }, "Ben was told")
        },
        rule("announcements are replayed; one deleted since only as its deletion") { f in
            let ana = try await f.user("ana")
            for text in ["kept", "gone"] { try await announce(f, text, to: [ana]) }
            let ids = try await ana.get("/announcements").ids
            try await ana.does("DELETE", Layer.path(ids[0]))
            let socket = try await ana.silentSocket()
            let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": "2019-01-01T00:00:00.000Z"])
            f.check(answer.isSuccess, "\(answer.data)")
            let packets = socket.history.filter { $0.objectType == "Announcement" && $0.index < answer.packet.index }
            f.equal(packets.filter { $0.objectID == ids[1] }.map(\.summary), ["A create"])
            f.equal(packets.filter { $0.objectID == ids[0] }.map(\.summary), ["A delete my_devices"])
        },
        rule("announcements are in no list of conversations or messages") { f in
            let ana = try await f.user("ana")
            try await announce(f, "hello", to: [ana])
            f.equal(try await ana.get("/conversations"), [])
            let id = Layer.last(try await ana.get("/announcements")[0]["id"].string ?? "")
            f.refused(try await ana.call("GET", "/messages/\(id)"), "not_found")
        },
    ]
}
