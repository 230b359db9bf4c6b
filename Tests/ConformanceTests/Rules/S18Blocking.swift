// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules of section 18.2: blocking.
enum S18Blocking {
    private static func block(_ user: User, _ other: User) async throws {
        try await user.does("PUT", "/blocks/users/\(other.userID)")
    }

    private static func texts(_ conversation: String, as user: User) async throws -> [String] {
        (try await user.get(Layer.path(conversation) + "/messages").array ?? []).reversed()
            .compactMap { $0["parts"][0]["body"].string }
    }

    static let rules: [Rule] = [
        Rule(
            "18.2",
            "PUT and DELETE /blocks/users/:id are 204, also without effect, and GET /blocks lists basic identities",
            .doc
        ) { f in
            let users = try await f.users("ana", "ben", "cleo")
            for _ in 0..<2 { f.succeeded(try await users[0].call("PUT", "/blocks/users/\(users[1].userID)"), 204) }
            try await block(users[0], users[2])
            let list = try await users[0].call("GET", "/blocks")
            f.succeeded(list, 200)
            f.equal(list.header("Layer-Count"), "2")
            f.equal(list.json.array?.compactMap { $0["id"].string }, [users[1].id, users[2].id].sorted())
            for _ in 0..<2 { f.succeeded(try await users[0].call("DELETE", "/blocks/users/\(users[1].userID)"), 204) }
            f.equal(try await users[0].get("/blocks").array?.count, 1)
            f.equal(try await users[1].get("/blocks"), [])
        },
        Rule("18.2", "users cannot block themselves: 422 user_id", .doc) { f in
            let ana = try await f.user("ana")
            f.refused(try await ana.call("PUT", "/blocks/users/\(ana.userID)"), "invalid_property", property: "user_id")
        },
        Rule("18.2", "an Identity update tells the user's own sockets, and no others", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let (anas, bens) = (try await users[0].socket(), try await users[1].socket())
            try await block(users[0], users[1])
            let packet = try await anas.change("update", "Identity", users[1].id)
            f.equal(packet.data.operation("blocked")?["value"].bool, true)
            f.check(packet.body["user_position"].int != nil, "no user_position")
            try await users[0].does("DELETE", "/blocks/users/\(users[1].userID)")
            let ended = try await anas.change("update", "Identity", users[1].id)
            f.equal(ended.data.operation("blocked")?["value"].bool, false)
            try await users[0].send("then", to: id)
            try await bens.message("then")
            f.check(!bens.history.contains { $0.description.contains("\"blocked\"") }, "the blocked user was told")
        },
        Rule(
            "18.2", "new messages hide in both directions without an error, others see both, and what was there stays",
            .doc
        ) { f in
            let users = try await f.users("ana", "ben", "cleo")
            let id = try await users[0].converse(users[1], users[2])
            try await users[1].send("1", to: id)
            try await block(users[0], users[1])
            let hidden = try await users[1].send("2", to: id)
            try await users[0].send("3", to: id)
            f.equal(try await texts(id, as: users[0]), ["1", "3"])
            f.equal(try await texts(id, as: users[1]), ["1", "2"])
            f.equal(try await texts(id, as: users[2]), ["1", "2", "3"])
            try await users[0].does("POST", Layer.path(id) + "/mark_all_read", [:])
            let seen = try await users[1].load(hidden["id"].string ?? "")
            f.equal(seen["recipient_status"][users[0].id], "sent")
            try await users[0].does("DELETE", "/blocks/users/\(users[1].userID)")
            try await users[1].send("4", to: id)
            f.equal(try await texts(id, as: users[0]), ["1", "3", "4"])
        },
        Rule("18.2", "a conversation that a blocked user creates is told when another user writes", .doc) { f in
            let users = try await f.users("ana", "ben", "cleo")
            try await block(users[0], users[1])
            let anas = try await users[0].socket()
            let id = try await users[1].converse(users[0], users[2])
            try await users[1].send("1", to: id)
            f.refused(try await users[0].call("GET", Layer.path(id)), "not_found")
            try await users[2].send("2", to: id)
            try await anas.change("create", "Conversation", id)
            try await anas.message("2")
            f.equal(try await texts(id, as: users[0]), ["2"])
        },
    ]
}
