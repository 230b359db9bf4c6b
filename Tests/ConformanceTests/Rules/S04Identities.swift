// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 4: identities and following.
enum S04 {
    static let rules: [Rule] = full + basic + reading + following

    // MARK: 4.1, 4.2

    private static let full: [Rule] = [
        Rule("4.1", "a full identity has id, url, user_id, all fields and metadata") { f in
            let ana = try await f.user("ana")
            let identity = try await ana.get("/identities/\(ana.userID)")
            f.equal(identity["id"].string, ana.id)
            f.equal(identity["url"].string, f.system.publicURL + "/identities/" + ana.userID)
            f.equal(identity["user_id"].string, ana.userID)
            f.equal(identity["display_name"], "Ana")
            let members = identity.object ?? [:]
            for name in ["avatar_url", "first_name", "last_name", "phone_number", "email_address", "public_key"] {
                f.check(members[name] != nil, "no \(name)")
            }
        },
        Rule("4.1", "metadata of a full identity is an object, empty if there is none") { f in
            let ana = try await f.user("ana")
            f.equal(try await ana.get("/identities/\(ana.userID)")["metadata"], [:])
        },
        Rule("4.1", "both type and identity_type say user") { f in
            let ana = try await f.user("ana")
            let identity = try await ana.get("/identities/\(ana.userID)")
            f.equal(identity["type"], "user")
            f.equal(identity["identity_type"], "user")
        },
        Rule("4.1", "all fields are visible to every user of the app") { f in
            let users = try await f.users("ana", "ben")
            f.equal(
                try await users[1].get("/identities/\(users[0].userID)"),
                try await users[0].get("/identities/\(users[0].userID)"))
        },
    ]

    private static func isBasic(_ f: Fixture, _ identity: JSONValue, _ user: User, line: UInt = #line) {
        f.equal(identity["id"].string, user.id, line: line)
        f.equal(identity["url"].string, f.system.publicURL + Layer.path(user.id), line: line)
        f.equal(identity["user_id"].string, user.userID, line: line)
        f.check(identity["display_name"].string != nil, "no display_name", line: line)
        f.check(identity.object?["avatar_url"] != nil, "no avatar_url", line: line)
        f.check(identity.object?["metadata"] == nil, "metadata, which makes it a full one", line: line)
    }

    private static let basic: [Rule] = [
        Rule("4.2", "participants and senders are basic identities, without metadata") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let message = try await users[0].send("x", to: conversation)
            isBasic(f, message["sender"], users[0])
            let participants = try await users[0].load(conversation)["participants"].array ?? []
            for user in users {
                guard let own = participants.first(where: { $0["id"].string == user.id }) else {
                    return f.fail("\(user.userID) is missing")
                }
                isBasic(f, own, user)
            }
        },
        Rule("4.2", "the typist of a signal is a basic identity") { f in
            let scene = try await Scene(f)
            isBasic(f, try await scene.startTyping().data["sender"], scene.ana)
        },
    ]

    // MARK: 4.3

    private static let reading: [Rule] = [
        Rule("4.3", "one's own identity is 200 right after signing in, on every gateway") { f in
            let ana = try await f.user("ana")
            for gateway in 0..<f.system.urls.count {
                f.succeeded(
                    try await f.system.client(gateway, f.version)
                        .call("GET", "/identities/\(ana.userID)", token: ana.session), 200)
            }
        },
        Rule("4.3", "any user of the app is 200, followed or not") { f in
            let users = try await f.users("ana", "ben")
            f.equal(try await users[0].get("/identities/\(users[1].userID)")["display_name"], "Ben")
        },
        Rule("4.3", "a user id that was never seen is 200 with a minimal full identity") { f in
            let ana = try await f.user("ana")
            let identity = try await ana.get("/identities/\(f.stranger())")
            f.equal(identity["id"].string, Layer.identity(f.stranger()))
            f.equal(identity["user_id"].string, f.stranger())
            f.equal(identity["display_name"], nil)
            f.equal(identity["metadata"], [:])
        },
        Rule("4.3", "the path takes a user id or a whole identity id") { f in
            let ana = try await f.user("ana")
            let whole = ana.id.replacingOccurrences(of: ":", with: "%3A").replacingOccurrences(of: "/", with: "%2F")
            f.equal(try await ana.get("/identities/\(whole)")["id"].string, ana.id)
        },
        Rule("4.3", "a user id that cannot be one is 404 not_found") { f in
            let ana = try await f.user("ana")
            f.refused(try await ana.call("GET", "/identities/" + String(repeating: "x", count: 129)), "not_found")
        },
        Rule("4.3", "GET /identities lists full identities of those followed, newest first, without the caller") { f in
            let users = try await f.users("ana", "ben", "cleo")
            try await users[0].converse(users[1], users[2])
            let answer = try await users[0].call("GET", "/identities")
            f.succeeded(answer, 200)
            f.equal(answer.header("Layer-Count"), "2")
            f.equal(answer.json.ids, [users[2].id, users[1].id])
            f.equal(answer.json[0], try await users[0].get("/identities/\(users[2].userID)"))
            f.check((answer.json.array ?? []).allSatisfy { $0["metadata"].object != nil }, "not full")
        },
        Rule("4.3", "GET /identities comes page by page, from a user id or an identity id") { f in
            let users = try await f.users("ana", "ben", "cleo", "dora")
            try await users[0].converse(users[1], users[2], users[3])
            let all = try await users[0].get("/identities").ids
            f.equal(all.count, 3)
            for from in ["", "layer:///identities/"] {
                let page = try await users[0]
                    .does("GET", "/identities?page_size=1&from_id=\(from)\(all.first.map { Layer.last($0) } ?? "")")
                f.equal(page.json.ids, [all.dropFirst().first ?? ""])
                f.equal(page.header("Layer-Count"), "3")
            }
            f.equal(try await users[0].get("/identities?page_size=2").ids, Array(all.prefix(2)))
        },
        Rule(
            "4.3",
            "GET /identities with ids answers these identities, followed or not, in the order asked for and each once",
            .doc
        ) { f in
            let users = try await f.users("ana", "ben", "cleo")
            try await users[0].converse(users[1])
            let whole = users[0].id.replacingOccurrences(of: ":", with: "%3A")
                .replacingOccurrences(of: "/", with: "%2F")
            let (cleo, ben, unknown) = (users[2].userID, users[1].userID, f.stranger())
            for query in [
                "ids=\(cleo),\(unknown),\(whole),\(ben),\(cleo)",
                "ids=\(cleo)%2C\(unknown)&ids=\(whole)&page_size=1&ids=\(ben)",
            ] {
                let answer = try await users[0].call("GET", "/identities?\(query)")
                f.succeeded(answer, 200)
                f.equal(answer.header("Layer-Count"), "4")
                f.check(answer.header("Link") == nil, "Link")
                f.equal(answer.json.ids, [users[2].id, Layer.identity(unknown), users[0].id, users[1].id])
                for identity in answer.json.array ?? [] {
                    f.equal(identity, try await users[0].load(identity["id"].string ?? ""))
                }
            }
        },
        Rule("4.3", "GET /identities with ids that cannot be ones, or more than 100, is 422 ids", .doc) { f in
            let ana = try await f.user("ana")
            let many = (0...100).map { "u\($0)" }.joined(separator: ",")
            for ids in ["", "ana,,ben", "layer:///messages/x", String(repeating: "x", count: 129), many] {
                f.refused(try await ana.call("GET", "/identities?ids=\(ids)"), "invalid_property", property: "ids")
            }
        },
        Rule("4.3", "GET /identities from a user who is not in the list is 422") { f in
            let ana = try await f.user("ana")
            f.refused(
                try await ana.call("GET", "/identities?from_id=\(f.stranger("unseen"))"), "invalid_property",
                property: "from_id")
        },
        Rule("4.3", "GET /identities is empty for a user who follows no other user") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.call("GET", "/identities")
            f.equal(answer.json, [])
            f.equal(answer.header("Layer-Count"), "0")
        },
    ]

    // MARK: 4.4

    private static func follows(_ user: User, _ other: String) async throws -> Int {
        try await user.call("GET", "/following/users/\(other)").status
    }

    /// Makes a change in the user's own log and waits for its packet.
    private static func ownFence(_ user: User, _ socket: ProtocolSocket) async throws -> ReceivedPacket {
        let other = user.fixture.stranger("fence-\(Layer.uuid().prefix(6))")
        try await user.does("PUT", "/following/users/\(other)")
        return try await socket.change("create", "Identity", Layer.identity(other))
    }

    private static let following: [Rule] = [
        Rule("4.4", "GET /following/users/:id is 404 for who is not followed, 204 for who is", .doc) { f in
            let users = try await f.users("ana", "ben")
            f.refused(try await users[0].call("GET", "/following/users/\(users[1].userID)"), "not_found")
            try await users[0].does("PUT", "/following/users/\(users[1].userID)")
            f.succeeded(try await users[0].call("GET", "/following/users/\(users[1].userID)"), 204)
        },
        Rule("4.4", "PUT /following/users/:id is 204, again as well") { f in
            let users = try await f.users("ana", "ben")
            for _ in 0..<2 { f.succeeded(try await users[0].call("PUT", "/following/users/\(users[1].userID)"), 204) }
            f.equal(try await users[0].get("/identities").ids, [users[1].id])
        },
        Rule("4.4", "following is not mutual", .doc) { f in
            let users = try await f.users("ana", "ben")
            try await users[0].does("PUT", "/following/users/\(users[1].userID)")
            f.equal(try await follows(users[1], users[0].userID), 404)
        },
        Rule("4.4", "users who never signed in can be followed", .doc) { f in
            let ana = try await f.user("ana")
            f.succeeded(try await ana.call("PUT", "/following/users/\(f.stranger())"), 204)
            f.equal(try await ana.get("/following"), [.string(Layer.identity(f.stranger()))])
        },
        Rule("4.4", "DELETE /following/users/:id is 204, again as well") { f in
            let users = try await f.users("ana", "ben")
            try await users[0].does("PUT", "/following/users/\(users[1].userID)")
            for _ in 0..<2 {
                f.succeeded(try await users[0].call("DELETE", "/following/users/\(users[1].userID)"), 204)
            }
            f.equal(try await follows(users[0], users[1].userID), 404)
            f.equal(try await users[0].get("/identities"), [])
        },
        Rule("4.4", "DELETE /following/:id does the same", .doc) { f in
            let users = try await f.users("ana", "ben")
            try await users[0].does("PUT", "/following/users/\(users[1].userID)")
            f.succeeded(try await users[0].call("DELETE", "/following/\(users[1].userID)"), 204)
            f.equal(try await follows(users[0], users[1].userID), 404)
        },
        Rule("4.4", "GET /following lists identity ids, page by page with Layer-Count", .doc) { f in
            let ana = try await f.user("ana")
            for name in ["x", "y", "z"] { try await ana.does("PUT", "/following/users/\(f.stranger(name))") }
            let answer = try await ana.call("GET", "/following")
            f.succeeded(answer, 200)
            f.equal(answer.header("Layer-Count"), "3")
            let all = (answer.json.array ?? []).compactMap(\.string)
            f.equal(Set(all), Set(["x", "y", "z"].map { Layer.identity(f.stranger($0)) }))
            let page = try await ana.does("GET", "/following?page_size=1&from_id=\(all.first ?? "")")
            f.equal((page.json.array ?? []).compactMap(\.string), Array(all.dropFirst().prefix(1)))
            f.equal(page.header("Layer-Count"), "3")
        },
        Rule("4.4", "POST /following/users is 202 and follows user ids and identity ids", .doc) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let (one, two) = (f.stranger("x"), f.stranger("y"))
            f.succeeded(
                try await ana.call("POST", "/following/users", [.string(one), .string(Layer.identity(two))]), 202)
            for user in [one, two] { try await socket.change("create", "Identity", Layer.identity(user)) }
            f.equal(try await follows(ana, one), 204)
            f.equal(try await follows(ana, two), 204)
        },
        Rule("4.4", "POST /following/users with something else than an array of ids is refused", .doc) { f in
            let ana = try await f.user("ana")
            for body: JSONValue in ["x", ["a": "b"]] {
                f.refused(try await ana.call("POST", "/following/users", body), "invalid_request")
            }
            let answer = try await ana.call("POST", "/following/users", [5])
            f.check(answer.status == 422 || answer.status == 400, "\(answer.status)")
        },
        Rule("4.4", "a shared conversation follows, both ways") { f in
            let users = try await f.users("ana", "ben")
            try await users[0].converse(users[1])
            f.equal(try await follows(users[0], users[1].userID), 204)
            f.equal(try await follows(users[1], users[0].userID), 204)
        },
        Rule("4.4", "being added to a conversation follows, both ways", .doc) { f in
            let users = try await f.users("ana", "ben", "cleo")
            let conversation = try await users[0].converse(users[1])
            try await users[0].patch(conversation, add(users[2]))
            for (one, other) in [(0, 2), (1, 2), (2, 0), (2, 1)] {
                f.equal(try await follows(users[one], users[other].userID), 204, "\(one) \(other)")
            }
        },
        Rule("4.4", "a user who has shared a conversation is followed after leaving it, until unfollowed", .doc) { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            try await users[0].patch(conversation, remove(users[1]))
            f.equal(try await follows(users[0], users[1].userID), 204)
            try await users[0].does("DELETE", "/following/users/\(users[1].userID)")
            f.equal(try await follows(users[0], users[1].userID), 404)
        },
        Rule("4.4", "a new common conversation follows again who was unfollowed", .doc) { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            try await users[0].patch(conversation, remove(users[1]))
            try await users[0].does("DELETE", "/following/users/\(users[1].userID)")
            try await users[0].converse(users[1])
            f.equal(try await follows(users[0], users[1].userID), 204)
        },
        Rule("4.4", "unfollowing a participant of a current common conversation is 204 without effect", .doc) { f in
            let users = try await f.users("ana", "ben")
            try await users[0].converse(users[1])
            f.succeeded(try await users[0].call("DELETE", "/following/users/\(users[1].userID)"), 204)
            f.equal(try await follows(users[0], users[1].userID), 204)
        },
        Rule("4.4", "a user cannot follow themselves: 422", .doc) { f in
            let ana = try await f.user("ana")
            f.refused(
                try await ana.call("PUT", "/following/users/\(ana.userID)"), "invalid_property", property: "user_id")
        },
        Rule("4.4", "following sends an Identity create with the full identity to all sockets of the caller") { f in
            let users = try await f.users("ana", "ben")
            let elsewhere = try await f.user("ana", gateway: 1)
            let sockets = [try await users[0].socket(), try await elsewhere.socket()]
            try await users[0].does("PUT", "/following/users/\(users[1].userID)")
            for socket in sockets {
                let packet = try await socket.change("create", "Identity", users[1].id)
                f.equal(packet.data, try await users[0].get("/identities/\(users[1].userID)"))
                f.equal(packet.body["object"]["url"].string, f.system.publicURL + Layer.path(users[1].id))
            }
        },
        Rule("4.4", "unfollowing sends an Identity delete with data null to all sockets of the caller") { f in
            let users = try await f.users("ana", "ben")
            let elsewhere = try await f.user("ana", gateway: 1)
            try await users[0].does("PUT", "/following/users/\(users[1].userID)")
            let sockets = [try await users[0].socket(), try await elsewhere.socket()]
            try await users[0].does("DELETE", "/following/users/\(users[1].userID)")
            for socket in sockets {
                let packet = try await socket.change("delete", "Identity", users[1].id)
                f.equal(packet.data, .null)
                f.check(packet.body.object?["data"] != nil, "no data at all")
            }
        },
        Rule("4.4", "no other user hears of a following, and one without effect is not announced") { f in
            let users = try await f.users("ana", "ben")
            let (own, other) = (try await users[0].socket(), try await users[1].socket())
            for _ in 0..<2 { try await users[0].does("PUT", "/following/users/\(users[1].userID)") }
            try await users[0].does("DELETE", "/following/users/\(f.stranger("unknown"))")
            let fence = try await ownFence(users[0], own)
            f.equal(
                own.packets(from: 0).filter { $0.index < fence.index && $0.type == "change" }.map(\.summary),
                ["I create"])
            let otherFence = try await ownFence(users[1], other)
            f.equal(
                other.packets(from: 0).filter { $0.index < otherFence.index && $0.type == "change" }.map(\.summary), [])
        },
        Rule("4.4", "what a new common conversation implies sends no Identity packets", .doc) { f in
            let scene = try await Scene(f)
            try await scene.sent("fence")
            for socket in scene.all {
                f.check(!socket.history.contains { $0.objectType == "Identity" }, "an Identity packet")
            }
        },
        Rule("4.4", "followers hear of a change of the identity; others do not", .doc) { f in
            let users = try await f.users("ana", "ben", "cleo")
            try await users[1].does("PUT", "/following/users/\(users[0].userID)")
            let (follower, other) = (try await users[1].socket(), try await users[2].socket())
            _ = try await f.user(id: users[0].userID, name: "Ana the Second")
            let update = try await follower.change("update", "Identity", users[0].id)
            f.check(update.data.has("set", "display_name", value: "Ana the Second"), "\(update.data)")
            f.check(
                (update.data.array ?? []).allSatisfy { $0["operation"] == "set" && $0["property"] != "user_id" },
                "\(update.data)")
            let fence = try await ownFence(users[2], other)
            f.check(!other.history.contains { $0.index < fence.index && $0.type == "change" }, "Cleo was told")
        },
        Rule("4.4", "packets about following are replayed", .doc) { f in
            let users = try await f.users("ana", "ben")
            let start = try await users[0].socket().does("Counter.read")
            f.check(start["counter"].int != nil, "no counter")
            try await users[0].does("PUT", "/following/users/\(users[1].userID)")
            try await users[0].does("DELETE", "/following/users/\(users[1].userID)")
            let socket = try await users[0].silentSocket()
            let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": "2019-01-01T00:00:00.000Z"])
            f.check(answer.isSuccess, "replay: \(answer.data)")
            let packets = socket.history.filter { $0.objectType == "Identity" && $0.index < answer.packet.index }
                .map(\.summary)
            f.equal(packets.last, "I delete null", "\(packets)")
        },
    ]
}
