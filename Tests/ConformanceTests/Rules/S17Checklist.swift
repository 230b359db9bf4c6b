// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 17: the compatibility checklist of everything that breaks stock clients. Other sections contain
/// many of these rules, too.
enum S17 {
    /// Returns all strings in a value whose key names a URL, at any depth.
    private static func urls(_ value: JSONValue) -> [String] {
        switch value {
        case .object(let members):
            members.flatMap { name, value in
                if name == "url" || name.hasSuffix("_url"), let url = value.string { return [url] }
                return urls(value)
            }
        case .array(let values): values.flatMap(urls)
        default: []
        }
    }

    /// Returns the required members that are null, at any depth of a value.
    private static func neverNull(_ value: JSONValue) -> [String] {
        switch value {
        case .object(let members):
            members.flatMap { name, value in
                ["sender", "participants", "parts", "conversation", "metadata"].contains(name) && value.isNull
                    ? [name] : neverNull(value)
            }
        case .array(let values): values.flatMap(neverNull)
        default: []
        }
    }

    static let rules: [Rule] = [
        Rule("17.1", "every URL in every answer and packet is absolute and https") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            try await scene.ben.receipt("read", message)
            try await scene.own.change("update", "Message", message)
            var values = scene.all.flatMap { $0.history.map(\.json) }
            for path in [
                "/conversations", Layer.path(scene.conversation) + "/messages", Layer.path(message), "/identities",
            ] {
                values.append(try await scene.ana.get(path))
            }
            for url in values.flatMap(urls) { f.check(url.hasPrefix("https://"), url) }
        },
        Rule("17.2", "JSON answers and errors are application/json") { f in
            let ana = try await f.user("ana")
            f.succeeded(try await ana.call("GET", "/conversations"), 200)
            f.refused(try await ana.call("GET", "/messages/\(Layer.uuid())"), "not_found")
            f.refused(try await f.client.call("GET", "/conversations"), "authentication_required")
        },
        Rule("17.3", "CORS: the concrete origin with credentials, Layer-Count and Link exposed, also on errors") { f in
            let ana = try await f.user("ana")
            for path in ["/conversations", "/conversations/\(Layer.uuid())"] {
                let answer = try await ana.call("GET", path, headers: ["Origin": "https://a.example"])
                f.equal(answer.header("Access-Control-Allow-Origin"), "https://a.example")
                f.equal(answer.header("Access-Control-Allow-Credentials"), "true")
                f.check(
                    answer.header("Access-Control-Expose-Headers")?.contains("Layer-Count") == true, "\(answer.headers)"
                )
            }
        },
        Rule("17.4", "the version is accepted on both transports, the subprotocol echoed") { f in
            let ana = try await f.user("ana")
            try await ana.socket().does("Counter.read")
        },
        Rule("17.5", "counters count every packet, signals included, and timestamps are valid") { f in
            let scene = try await Scene(f)
            try await scene.startTyping()
            for action in ["paused", "finished"] {
                try await scene.acting.typing(action, in: scene.conversation)
                try await scene.other.typingSeen(action, in: scene.conversation)
            }
            try await scene.other.does("Counter.read")
            f.equal(scene.other.history.map { $0.counter ?? -1 }, Array(0..<scene.other.history.count))
            f.check(scene.other.history.allSatisfy { Layer.date($0.timestamp) != nil }, "a timestamp")
        },
        Rule("17.6", "Presence.sync is answered with changes, an empty list at least") { f in
            let ana = try await f.user("ana")
            f.check(
                try await ana.socket().does("Presence.sync", nil, ["ids": []])["changes"].array != nil, "no changes")
        },
        Rule("17.7", "one's own identity is 200 with metadata, others' too") { f in
            let users = try await f.users("ana", "ben")
            for id in [users[0].userID, users[1].userID, f.stranger()] {
                f.check(try await users[0].get("/identities/\(id)")["metadata"].object != nil, id)
            }
        },
        Rule("17.8", "identity ids are encoded exactly as the client does, everywhere") { f in
            let id = "layer:///identities/a%20b%21%27%28%29*.\(f.mark)"
            let user = try await f.user(id: "a b!'()*.\(f.mark)", name: "A")
            let conversation = try await user.converse([])
            let message = try await user.send("x", to: conversation)
            f.equal(try await user.load(conversation)["participants"].ids, [id])
            f.equal(message["sender"]["id"].string, id)
            f.equal(Array((message["recipient_status"].object ?? [:]).keys), [id])
        },
        Rule("17.9", "sender, participants, parts, conversation and metadata are never null") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            var values = scene.all.flatMap { $0.history.map(\.json) }
            for path in ["/conversations", Layer.path(scene.conversation) + "/messages", Layer.path(message)] {
                values.append(try await scene.ben.get(path))
            }
            try await scene.ana.patch(scene.conversation, remove(scene.ben))
            values.append(try await scene.ben.get("/conversations"))
            f.equal(values.flatMap(neverNull), [])
        },
        Rule("17.10", "the sender's own recipient_status is read, and its keys are identity ids") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            for message in [
                try await users[0].send("x", to: conversation),
                try await users[0].socket().does("Message.create", conversation, User.message("y")),
            ] { f.equal(message["recipient_status"], .object([users[0].id: "read", users[1].id: "sent"])) }
        },
        Rule("17.11", "MIME types and the part ids of 3.0 are echoed verbatim", versions: [.v3]) { f in
            let ana = try await f.user("ana")
            let id = Layer.newMessage()
            let part: JSONValue = [
                "mime_type": "application/vnd.layer.choice+json;role=root;node-id=xY_9;parent-node-id=Q", "body": "{}",
                "id": .string("\(id)/parts/\(Layer.uuid())"),
            ]
            let sent = try await ana.socket()
                .does("Message.create", try await ana.converse([]), ["id": .string(id), "parts": [part]])
            f.equal(sent["parts"][0]["mime_type"], part["mime_type"])
            f.equal(sent["parts"][0]["id"], part["id"])
        },
        Rule("17.12", "409 errors are id_in_use and conflict, with the existing object in data") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([users[1].id], distinct: true)
            let conflict = try await users[0]
                .call("POST", "/conversations", User.conversation([users[1].id], metadata: ["a": "1"], distinct: true))
            f.refused(conflict, "conflict")
            let inUse = try await users[0].call("POST", "/conversations", User.conversation([], id: id))
            f.refused(inUse, "id_in_use")
            for answer in [conflict, inUse] { f.equal(answer.json["data"]["id"].string, id) }
        },
        Rule("17.13", "401 has a nonce always, and sockets are closed instead of answered so") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            try await ana.does("DELETE", "/sessions/\(ana.session)")
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401)
            f.refused(try await ana.call("GET", "/conversations"), "authentication_required")
        },
        Rule("17.14", "Message create comes before the last_message patch, and add participants has a value") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            let history = scene.other.history
            let created = history.firstIndex { $0.isChange("create", of: "Message", id: message) } ?? .max
            let patched = history.firstIndex { $0.data.has("set", "last_message", id: message) } ?? -1
            f.check(created < patched, "\(created) \(patched)")
            let cleo = try await f.user("cleo")
            try await scene.ana.patch(scene.conversation, add(cleo))
            let update = try await scene.other.change("update", "Conversation", scene.conversation) {
                $0.operation("participants") != nil
            }
            f.equal(update.data.operation("participants")?["value"]["id"].string, cleo.id)
        },
        Rule("17.15", "dots are escaped in paths of recipient_status") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            try await scene.ben.receipt("delivery", message)
            let property = try await scene.acting.change("update", "Message", message).data[0]["property"].string ?? ""
            f.equal(property, "recipient_status." + scene.ben.id.replacingOccurrences(of: ".", with: "\\."))
        },
        Rule("17.16", "Event.replay is inclusive, complete and answered with success") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            for number in 0..<150 { try await users[0].send("\(number)", to: conversation) }
            let socket = try await users[1].silentSocket()
            try await socket.does("Event.replay", nil, ["from_timestamp": "2019-01-01T00:00:00.000Z"])
            let texts = socket.history.filter { $0.isChange("create", of: "Message") }
                .compactMap { $0.data["parts"][0]["body"].string }
            f.equal(texts, (0..<150).map { "\($0)" })
        },
        Rule("17.17", "signals have data.sender.id") { f in
            let scene = try await Scene(f)
            f.equal(try await scene.startTyping().data["sender"]["id"].string, scene.ana.id)
        },
        Rule("17.18", "session tokens use the alphabet that needs no escaping") { f in
            let ana = try await f.user("ana")
            f.check(ana.session.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil, ana.session)
        },
        Rule(
            "17.19",
            "content in message parts expires in 10 minutes or later, and is up- and downloaded without a session"
        ) { f in
            let users = try await f.users("ana", "ben")
            let announced = try await users[0]
                .call(
                    "POST", "/content", headers: ["Upload-Content-Type": "a/b", "Upload-Content-Length": "3"])
            let upload = String(
                try f.need(announced.json["upload_url"].string, "upload_url").dropFirst(f.system.publicURL.count))
            let bare = ["Accept": "", "Content-Type": ""]
            f.check(try await f.client.call("PUT", upload, data: Data("abc".utf8), headers: bare).isSuccess, "PUT")
            let conversation = try await users[0].converse(users[1])
            let body: JSONValue = [
                "parts": [["mime_type": "a/b", "content": ["id": announced.json["id"], "size": 3]]]
            ]
            try await users[0].does("POST", Layer.path(conversation) + "/messages", body)
            let content = try await users[1].load(conversation)["last_message"]["parts"][0]["content"]
            f.check(
                (Layer.date(content["expiration"].string)?.timeIntervalSinceNow ?? 0) > 600, "\(content["expiration"])")
            let download = String(
                try f.need(content["download_url"].string, "download_url").dropFirst(f.system.publicURL.count))
            f.equal(try await f.client.call("GET", download, headers: bare).body, Data("abc".utf8))
        },
        Rule("17.20", "bursts of receipts are never 429") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            var messages: [String] = []
            for number in 0..<40 { messages.append(try await users[0].sendID("\(number)", to: conversation)) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for message in messages {
                    for type in ["delivery", "read"] {
                        group.addTask {
                            try await users[1].call("POST", Layer.path(message) + "/receipts", ["type": .string(type)])
                                .status
                        }
                    }
                }
                for try await status in group { f.equal(status, 204) }
            }
            f.equal(try await users[1].load(conversation)["unread_message_count"], 0)
        },
    ]
}
