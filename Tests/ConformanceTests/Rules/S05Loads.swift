// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules for loading conversations together with messages, an extension by Strata.
enum S05Loads {
    /// Creates three conversations of Ana, Ben and Cleo: one without messages, one that Ana has read, and one with two
    /// of five messages unread.
    private static func three(_ f: Fixture) async throws -> (users: [User], ids: [String]) {
        let users = try await f.users("ana", "ben", "cleo")
        var ids: [String] = []
        for _ in 0..<3 { ids.append(try await users[0].converse(users[1], users[2], metadata: ["title": "x"])) }
        for text in ["1", "2"] { try await users[1].send(text, to: ids[1]) }
        try await users[0].does("POST", Layer.path(ids[1]) + "/mark_all_read")
        for (text, sender) in [("1", 1), ("2", 0), ("3", 1), ("4", 0), ("5", 2)] {
            let message = try await users[sender].sendID(text, to: ids[2])
            if text == "1" { try await users[0].receipt("read", message) }
        }
        return (users, ids)
    }

    private static func isLoaded(
        _ f: Fixture, _ user: User, _ loaded: JSONValue, messages: Int, line: UInt = #line
    ) async throws {
        let id = loaded["id"].string ?? ""
        var members = loaded.object ?? [:]
        members["messages"] = nil
        f.equal(JSONValue.object(members), try await user.load(id), "\(id)", line: line)
        let all = try await user.get(Layer.path(id) + "/messages").array ?? []
        f.equal(loaded["messages"].array ?? [.null], Array(all.prefix(messages)), "messages", line: line)
    }

    static let rules: [Rule] = [
        Rule(
            "5.2",
            "with messages=N each conversation of a list comes with its N newest messages, as their list shows them",
            .doc
        ) { f in
            let (users, ids) = try await three(f)
            for count in [1, 3, 100] {
                for order in ["", "&sort_by=last_message"] {
                    let list = try await users[0].does("GET", "/conversations?messages=\(count)\(order)")
                    f.equal(list.header("Layer-Count"), "3")
                    f.equal(Set(list.json.ids), Set(ids))
                    f.equal(list.json.ids, try await users[0].get("/conversations?\(order)").ids)
                    for conversation in list.json.array ?? [] {
                        try await isLoaded(f, users[0], conversation, messages: count)
                    }
                }
            }
        },
        Rule(
            "5.2",
            "with messages=unread a conversation comes with all from the first unread message on, a read one with its newest",
            .doc
        ) { f in
            let (users, ids) = try await three(f)
            let list = try await users[0].get("/conversations?messages=unread")
            f.equal(list.ids, ids.reversed())
            for (conversation, count) in zip(list.array ?? [], [3, 1, 0]) {
                try await isLoaded(f, users[0], conversation, messages: count)
            }
            f.equal(list[0]["messages"][2]["is_unread"], true)
        },
        Rule("5.2", "a conversation the caller was removed from comes with the messages of then", .doc) { f in
            let (users, ids) = try await three(f)
            try await users[0].patch(ids[2], remove(users[1]))
            try await users[0].send("after", to: ids[2])
            let list = try await users[1].get("/conversations?messages=2")
            f.equal(list[0]["participants"], [])
            for conversation in list.array ?? [] { try await isLoaded(f, users[1], conversation, messages: 2) }
        },
        Rule("5.2", "a list with messages comes page by page, by its Link", .doc) { f in
            let (users, ids) = try await three(f)
            var found: [String] = []
            var path: String? = "/conversations?messages=2&page_size=2"
            while let next = path {
                let answer = try await users[0].does("GET", next)
                for conversation in answer.json.array ?? [] {
                    try await isLoaded(f, users[0], conversation, messages: 2)
                }
                found += answer.json.ids
                path = try S01Lists.nextPage(f, answer)
                if let path { f.check(path.contains("messages=2&page_size=2&"), path) }
            }
            f.equal(found, ids.reversed())
        },
        Rule("5.2", "what messages cannot be is 422 messages", .doc) { f in
            let ana = try await f.user("ana")
            for value in ["0", "101", "-1", "all", "1.5"] {
                f.refused(
                    try await ana.call("GET", "/conversations?messages=\(value)"), "invalid_property",
                    property: "messages")
            }
        },
        Rule("5.2", "conversations come without messages unless they are asked for", .doc) { f in
            let (users, _) = try await three(f)
            for path in ["/conversations", "/conversations?messages="] {
                for conversation in try await users[0].get(path).array ?? [] {
                    f.check(
                        conversation.object?["messages"] == nil && conversation.object?["messages_next"] == nil, path)
                }
            }
        },
    ]
}
