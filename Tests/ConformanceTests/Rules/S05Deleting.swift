// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 5.7 and 5.8: deleting, and marking all as read.
extension S05 {
    // MARK: 5.7

    static let deleting: [Rule] = [
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
            f.succeeded(
                try await scene.ana.call(
                    "DELETE", Layer.path(scene.conversation) + "?mode=my_devices&position=\(position)"), 204)
            let object = try await scene.ana.load(scene.conversation)
            f.equal([object["unread_message_count"].int, object["total_message_count"].int], [1, 1])
            f.equal(try await scene.ana.get(Layer.path(scene.conversation) + "/messages").ids, [new])
            f.refused(try await scene.ana.call("GET", Layer.path(old)), "not_found")
            for socket in [scene.acting, scene.own] {
                let packet = try await socket.change("delete", "Conversation", scene.conversation)
                f.equal(packet.data, ["mode": "my_devices", "from_position": .integer(Int64(position) * 8192)])
                let counts = try await socket.change("update", "Conversation", scene.conversation) {
                    $0.has("set", "total_message_count", value: 1)
                }
                f.check(counts.data.has("set", "unread_message_count", value: 1), "\(counts.data)")
                f.equal(counts.body["user_position"], packet.body["user_position"])
            }
            f.equal(try await scene.ben.load(scene.conversation)["total_message_count"], 2)
            // A position up to which everything is already deleted has no effect.
            for earlier in [position, 0] {
                f.succeeded(
                    try await scene.ana.call(
                        "DELETE", Layer.path(scene.conversation) + "?mode=my_devices&position=\(earlier)"), 204)
            }
            f.equal(try await scene.ana.load(scene.conversation)["total_message_count"], 1)
            // A position beyond the head means the head.
            f.succeeded(
                try await scene.ana.call(
                    "DELETE", Layer.path(scene.conversation) + "?mode=my_devices&position=99999999999999999999"), 204)
            f.refused(try await scene.ana.call("GET", Layer.path(scene.conversation)), "not_found")
        },
        Rule(
            "5.7", "a position with all_participants, or one that is no number, is 422 invalid_property position", .doc
        ) { f in
            let ana = try await f.user("ana")
            let path = Layer.path(try await ana.converse([]))
            for query in [
                "mode=all_participants&position=1", "mode=my_devices&position=x", "mode=my_devices&position=-1",
                "mode=my_devices&position=",
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
            f.refused(
                try await ana.call("DELETE", Layer.path(id) + "?mode=everything"), "invalid_property", property: "mode")
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

    /// Creates a conversation with three messages by Ana, none of which Ben has read.
    private static func three(
        _ f: Fixture
    ) async throws -> (ben: User, id: String, positions: [Int], messages: [String]) {
        let users = try await f.users("ana", "ben")
        let id = try await users[0].converse(users[1])
        var messages: [JSONValue] = []
        for number in 1...3 { messages.append(try await users[0].send("\(number)", to: id)) }
        return (users[1], id, messages.compactMap { $0["position"].int }, messages.compactMap { $0["id"].string })
    }

    static let readingAll: [Rule] = [
        Rule("5.8", "mark_all_read with a position reads every message up to it: 204") { f in
            let (ben, id, positions, messages) = try await three(f)
            f.succeeded(
                try await ben.call(
                    "POST", Layer.path(id) + "/mark_all_read", ["position": .integer(Int64(positions[1]))]), 204)
            f.equal(try await ben.load(id)["unread_message_count"], 1)
            var unread: [Bool?] = []
            for message in messages { unread.append(try await ben.load(message)["is_unread"].bool) }
            f.equal(unread, [false, false, true])
            f.equal(try await ben.load(messages[0])["recipient_status"][ben.id], "read")
        },
        Rule("5.8", "a position between two messages reads those before it") { f in
            let (ben, id, positions, _) = try await three(f)
            try await ben.does(
                "POST", Layer.path(id) + "/mark_all_read", ["position": .integer(Int64(positions[1] + 1))])
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
                        try await ben.call(
                            "POST", Layer.path(id) + "/mark_all_read", ["position": .integer(Int64(position))]
                        )
                        .status
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
                    try await ben.call("POST", Layer.path(id) + "/mark_all_read", ["position": value]),
                    "invalid_property", property: "position")
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
