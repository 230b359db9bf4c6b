// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 1.8: pages of lists.
extension S01 {
    // MARK: 1.8

    private static func walk(_ user: User, _ path: String, pageSize: Int, count: Int) async throws -> [String] {
        var ids: [String] = []
        let sign = path.contains("?") ? "&" : "?"
        while true {
            let from = ids.last.map { "&from_id=\($0)" } ?? ""
            let page = try await user.does("GET", "\(path)\(sign)page_size=\(pageSize)\(from)")
            user.fixture.equal(page.header("Layer-Count"), "\(count)", "Layer-Count")
            user.fixture.check(page.json.ids.count <= pageSize, "a page has \(page.json.ids.count) items")
            if page.json.ids.isEmpty { return ids }
            ids += page.json.ids
            if ids.count > count { return ids }
        }
    }

    static let lists: [Rule] = [
        Rule("1.8", "lists of conversations come page by page, with the whole number in Layer-Count on every page") {
            f in
            let ana = try await f.user("ana")
            var ids: [String] = []
            for _ in 0..<5 { ids.append(try await ana.converse([])) }
            f.equal(try await walk(ana, "/conversations", pageSize: 2, count: 5), ids.reversed())
        },
        Rule("1.8", "lists of messages come page by page, with the whole number in Layer-Count on every page") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            var ids: [String] = []
            for number in 0..<5 { ids.append(try await ana.sendID("\(number)", to: conversation)) }
            f.equal(try await walk(ana, Layer.path(conversation) + "/messages", pageSize: 2, count: 5), ids.reversed())
        },
        Rule("1.8", "an empty list is an empty array with Layer-Count 0") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.call("GET", "/conversations")
            f.succeeded(answer, 200)
            f.equal(answer.json, [])
            f.equal(answer.header("Layer-Count"), "0")
        },
        Rule("1.8", "a page_size above the maximum is cut down to it") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            f.equal(try await ana.get("/conversations?page_size=100000").ids, [conversation])
            f.equal(try await ana.get(Layer.path(conversation) + "/messages?page_size=100000"), [])
        },
        Rule("1.8", "a page has 100 items at most, and by default") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for number in 0..<101 { try await ana.send("\(number)", to: conversation) }
            for query in ["", "?page_size=100", "?page_size=500"] {
                let page = try await ana.does("GET", Layer.path(conversation) + "/messages\(query)")
                f.equal(page.json.ids.count, 100, query)
                f.equal(page.header("Layer-Count"), "101")
            }
        },
        Rule("1.8", "a page of identities or of those followed has 500 at most, and by default", .doc) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let others = (0..<501).map { "p\($0).\(f.mark)" }
            f.succeeded(try await ana.call("POST", "/following/users", .array(others.map { .string($0) })), 202)
            for other in others { try await socket.change("create", "Identity", Layer.identity(other)) }
            for path in ["/following", "/identities", "/identities?page_size=1000"] {
                let page = try await ana.does("GET", path)
                f.equal(page.json.array?.count, 500, path)
                f.equal(page.header("Layer-Count"), "501", path)
            }
        },
        Rule("1.8", "a page_size that is no positive number is 422") { f in
            let ana = try await f.user("ana")
            for size in ["abc", "-1", "0", "1.5"] {
                f.refused(
                    try await ana.call("GET", "/conversations?page_size=\(size)"), "invalid_property",
                    property: "page_size")
            }
        },
        Rule("1.8", "a from_id that names nothing is 422") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let unknown = [
                "/conversations?from_id=\(Layer.newConversation())",
                Layer.path(conversation) + "/messages?from_id=\(Layer.newMessage())",
            ]
            for path in unknown + ["/conversations?from_id=nothing"] {
                f.refused(try await ana.call("GET", path), "invalid_property", property: "from_id")
            }
        },
        Rule("1.8", "a conversation deleted between two pages still works as a cursor") { f in
            let ana = try await f.user("ana")
            let first = try await ana.converse([])
            let second = try await ana.converse([])
            let third = try await ana.converse([])
            try await ana.does("DELETE", Layer.path(second) + "?mode=all_participants")
            f.equal(try await ana.get("/conversations?from_id=\(second)").ids, [first])
            try await ana.does("DELETE", Layer.path(third) + "?mode=my_devices")
            f.equal(try await ana.get("/conversations?from_id=\(third)").ids, [first])
        },
        Rule("1.8", "a message deleted between two pages still works as a cursor") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let first = try await ana.sendID("1", to: conversation)
            for mode in ["all_participants", "my_devices"] {
                let message = try await ana.sendID("2", to: conversation)
                try await ana.does("DELETE", Layer.path(message) + "?mode=\(mode)")
                f.equal(try await ana.get(Layer.path(conversation) + "/messages?from_id=\(message)").ids, [first], mode)
            }
        },
        Rule("1.8", "a sort_by that is none is 422") { f in
            let ana = try await f.user("ana")
            f.refused(try await ana.call("GET", "/conversations?sort_by=name"), "invalid_property", property: "sort_by")
        },
    ]
}
