// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 1.5 to 1.7: answers, identifiers, times.
extension S01 {
    // MARK: 1.5

    static let answers: [Rule] = [
        Rule("1.5", "every JSON answer has a Content-Type that begins with application/json") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let message = try await ana.sendID("x", to: conversation)
            for path in [
                "/", "/conversations", Layer.path(conversation), Layer.path(message), "/identities",
                "/identities/\(ana.userID)",
            ] {
                f.succeeded(try await ana.call("GET", path), 200)
            }
            f.succeeded(try await ana.call("POST", "/nonces"), 201)
            f.succeeded(try await ana.call("POST", "/conversations", User.conversation([])), 201)
        },
        Rule("1.5", "204 has no body") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let answer = try await ana.call("PATCH", Layer.path(conversation), [set("metadata.a", "1")])
            f.equal(answer.status, 204)
            f.check(answer.body.isEmpty, "\(answer.body.count) bytes")
        },
        Rule("1.5", "unknown members of a request are ignored") { f in
            let ana = try await f.user("ana")
            var body = User.conversation([])
            body["colour"] = ["a": [1, nil, true]]
            f.succeeded(try await ana.call("POST", "/conversations", body), 201)
        },
    ]

    // MARK: 1.6

    static let identifiers: [Rule] = [
        Rule("1.6", "an object's url is the base and its id without layer://") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let message = try await users[0].send("x", to: conversation)
            let object = try await users[0].load(conversation)
            for thing in [
                object, message, message["conversation"], message["sender"], object["participants"][0],
                message["parts"][0],
            ] {
                guard let id = thing["id"].string else { return f.fail("no id in \(thing)") }
                if thing["url"].isNull, thing == message["parts"][0], f.version == .v2 { continue }
                f.equal(thing["url"].string, f.system.publicURL + Layer.path(id))
            }
        },
        Rule("1.6", "paths take a bare UUID or the whole id") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let message = try await ana.sendID("x", to: conversation)
            for id in [conversation, message] {
                let kind = id == conversation ? "conversations" : "messages"
                let whole = id.replacingOccurrences(of: ":", with: "%3A").replacingOccurrences(of: "/", with: "%2F")
                f.equal(try await ana.get("/\(kind)/\(Layer.last(id))")["id"].string, id)
                f.equal(try await ana.get("/\(kind)/\(whole)")["id"].string, id)
            }
        },
        Rule("1.6", "from_id takes a bare UUID, the whole id as it is, and the whole id escaped") { f in
            let ana = try await f.user("ana")
            let first = try await ana.converse([])
            let second = try await ana.converse([])
            let escaped = second.replacingOccurrences(of: ":", with: "%3A").replacingOccurrences(of: "/", with: "%2F")
            for from in [Layer.last(second), second, escaped] {
                f.equal(try await ana.get("/conversations?from_id=\(from)").ids, [first])
            }
        },
        Rule("1.6", "UUIDs are compared without regard to case") { f in
            let ana = try await f.user("ana")
            let id = "layer:///conversations/" + Layer.uuid().uppercased()
            let created = try await ana.does("POST", "/conversations", User.conversation([], id: id)).json
            f.equal(created["id"].string?.lowercased(), id.lowercased())
            f.equal(try await ana.get("/conversations/\(Layer.last(id).lowercased())")["id"], created["id"])
            f.equal(try await ana.get("/conversations/\(Layer.last(id))")["id"], created["id"])
        },
        Rule(
            "1.6",
            "identity ids are encoded as clients do it: like encodeURIComponent, with ! ~ ' ( ) escaped and * raw"
        ) { f in
            let pairs = [
                ("a b", "a%20b"), ("x/y", "x%2Fy"), ("é", "%C3%A9"), ("!~'()", "%21%7E%27%28%29"), ("*", "*"),
                ("a@b.c", "a%40b.c"), ("-_.", "-_."),
                ("%", "%25"), ("+&=?#", "%2B%26%3D%3F%23"), ("日本", "%E6%97%A5%E6%9C%AC"),
            ]
            let ana = try await f.user("ana")
            for (text, encoded) in pairs {
                let identity = try await ana.get("/identities/\(encoded)\(f.mark)")
                f.equal(identity["id"].string, "layer:///identities/\(encoded)\(f.mark)")
                f.equal(identity["user_id"].string, text + f.mark)
                f.equal(identity["url"].string, "\(f.system.publicURL)/identities/\(encoded)\(f.mark)")
            }
        },
        Rule("1.6", "identity ids that come encoded otherwise are shown encoded as they should be") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse(["layer:///identities/x~y%c3%a9!.\(f.mark)"])
            let others = (try await ana.load(conversation)["participants"]).ids.filter { $0 != ana.id }
            f.equal(others, ["layer:///identities/x%7Ey%C3%A9%21.\(f.mark)"])
        },
        Rule(
            "1.6",
            "the id of a user with special characters is the same as participant, sender, key of recipient_status and in patches"
        ) { f in
            let userID = "o'neil (x) é.\(f.mark)"
            let id = "layer:///identities/o%27neil%20%28x%29%20%C3%A9.\(f.mark)"
            let neil = try await f.user(id: userID, name: "Neil")
            let ana = try await f.user("ana", gateway: 1)
            let socket = try await ana.socket()
            let conversation = try await ana.converse([id])
            let message = try await ana.sendID("hello", to: conversation)
            f.check(try await ana.load(conversation)["participants"].ids.contains(id), "participants")
            f.equal(try await ana.load(message)["recipient_status"][id], "sent")
            try await neil.receipt("read", message)
            let update = try await socket.change("update", "Message", message)
            f.equal(ReceivedPacket.segments(update.data[0]["property"].string ?? ""), ["recipient_status", id])
            try await neil.send("answer", to: conversation)
            f.equal(try await socket.message("answer").data["sender"]["id"].string, id)
        },
        Rule("1.6", "the app may be named in every spelling") { f in
            let uuid = Layer.last(f.app.id)
            for id in [
                "layer:///apps/production/\(uuid)", "layer:///apps/staging/\(uuid)", "layer://apps/production/\(uuid)",
                uuid,
            ] {
                let nonce = try await f.client.nonce()
                let token = try f.app.tokens.token(
                    header: f.app.header, claims: f.app.claims(f.stranger("ana"), nonce: nonce, name: nil))
                let answer = try await f.client.call(
                    "POST", "/sessions", body: ["app_id": .string(id), "identity_token": .string(token)])
                f.succeeded(answer, 201)
            }
        },
    ]

    // MARK: 1.7

    static let times: [Rule] = [
        Rule("1.7", "timestamps are UTC with milliseconds and Z") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let conversation = try await ana.converse([])
            let message = try await ana.send("x", to: conversation)
            f.check(Layer.isTimestamp(try await ana.load(conversation)["created_at"].string), "created_at")
            f.check(Layer.isTimestamp(message["sent_at"].string), "sent_at \(message["sent_at"])")
            let packet = try await socket.message("x")
            f.check(Layer.isTimestamp(packet.timestamp), "packet \(packet.timestamp ?? "none")")
        },
        Rule("1.7", "times of any offset are accepted") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for time in ["2019-01-01T00:00:00Z", "2019-01-01T02:00:00.123+02:00", "2019-01-01T00:00:00.5-0330"] {
                f.check(try await socket.ask("Presence.sync", nil, ["since": .string(time)]).isSuccess, time)
            }
            f.check(
                try await socket.ask("Event.replay", nil, ["from_timestamp": "2019-01-01T02:00:00+02:00"]).isSuccess,
                "replay")
        },
    ]
}
