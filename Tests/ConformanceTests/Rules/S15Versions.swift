// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 15: version differences. Both versions are served from one store.
enum S15 {
    private static func get(_ user: User, _ path: String, _ version: ProtocolVersion) async throws -> JSONValue {
        try await user.fixture.system.client(0, version)
            .call("GET", path, token: user.session, deadline: Fixture.deadline).json
    }

    private static func other(_ f: Fixture) -> ProtocolVersion { f.version == .v2 ? .v3 : .v2 }

    static let rules: [Rule] = [
        Rule("15", "a message sent in one version has indexes as part ids in 2.0 and UUIDs in 3.0") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let body: JSONValue = ["parts": [["mime_type": "a/b", "body": "1"], ["mime_type": "a/b", "body": "2"]]]
            let id = try await ana.does("POST", Layer.path(conversation) + "/messages", body).json["id"].string ?? ""
            f.equal(try await get(ana, Layer.path(id), .v2)["parts"].ids, ["\(id)/parts/0", "\(id)/parts/1"])
            for part in try await get(ana, Layer.path(id), .v3)["parts"].ids {
                f.check(UUID(uuidString: Layer.last(part)) != nil, part)
            }
        },
        Rule("15", "part ids a 3.0 client chose are shown in 3.0, and as indexes in 2.0", versions: [.v3]) { f in
            let ana = try await f.user("ana")
            let id = Layer.newMessage()
            let part = "\(id)/parts/\(Layer.uuid())"
            let body: JSONValue = [
                "id": .string(id), "parts": [["mime_type": "a/b", "body": "1", "id": .string(part)]],
            ]
            try await ana.does("POST", Layer.path(try await ana.converse([])) + "/messages", body)
            f.equal(try await get(ana, Layer.path(id), .v3)["parts"].ids, [part])
            f.equal(try await get(ana, Layer.path(id), .v2)["parts"].ids, ["\(id)/parts/0"])
        },
        Rule("15", "but for part ids and URLs both versions show the same message and conversation") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse([users[1].id], metadata: ["a": "1"])
            let id = try await users[0].sendID("x", to: conversation)
            let bare = { (message: JSONValue) -> JSONValue in
                var message = message
                let parts = (message["parts"].array ?? [])
                    .map { part in
                        JSONValue.object(
                            (part.object ?? [:]).filter { !["id", "url", "message_url"].contains($0.key) })
                    }
                message["parts"] = .array(parts)
                return message
            }
            f.equal(
                bare(try await get(users[1], Layer.path(id), .v2)), bare(try await get(users[1], Layer.path(id), .v3)))
            var (two, three) = (
                try await get(users[1], Layer.path(conversation), .v2),
                try await get(users[1], Layer.path(conversation), .v3)
            )
            two["last_message"] = bare(two["last_message"])
            three["last_message"] = bare(three["last_message"])
            f.equal(two, three)
        },
        Rule(
            "15",
            "a packet is rendered in the version of its socket, whatever the version of the request that caused it"
        ) { f in
            let users = try await f.users("ana", "ben")
            let sockets = [try await users[1].socket(version: .v2), try await users[1].socket(version: .v3)]
            let conversation = try await users[0].converse(users[1])
            let id = try await users[0].sendID("x", to: conversation)
            let parts = [
                try await sockets[0].message("x").data["parts"].ids,
                try await sockets[1].message("x").data["parts"].ids,
            ]
            f.equal(parts[0], ["\(id)/parts/0"])
            f.equal(parts[1], try await get(users[1], Layer.path(id), .v3)["parts"].ids)
        },
        Rule("15", "a REST answer is rendered in the version of its Accept, whatever socket is open") { f in
            let ana = try await f.user("ana")
            _ = try await ana.socket(version: other(f))
            let message = try await ana.send("x", to: try await ana.converse([]))
            let part = Layer.last(message["parts"][0]["id"].string ?? "")
            f.equal(part == "0", f.version == .v2)
        },
        Rule("15", "users of both versions share a conversation") { f in
            let ana = try await f.user("ana", version: .v2)
            let ben = try await f.user("ben", gateway: 1, version: .v3)
            let sockets = [try await ana.socket(), try await ben.socket()]
            let conversation = try await ana.converse(ben)
            for (user, text) in [(ana, "from 2.0"), (ben, "from 3.0")] {
                try await user.send(text, to: conversation)
                for socket in sockets { try await socket.message(text) }
            }
            for user in [ana, ben] { f.equal(try await user.get(Layer.path(conversation) + "/messages").ids.count, 2) }
        },
        Rule("15", "participants are patched by identity id in both versions") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse([])
            try await users[0].patch(conversation, add(users[1]))
            f.equal(try await users[0].load(conversation)["participants"].ids.count, 2)
            try await users[0].patch(conversation, remove(users[1]))
            f.equal(try await users[0].load(conversation)["participants"].ids, [users[0].id])
        },
        Rule("15", "changes are called update, never patch") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            try await scene.ben.receipt("read", message)
            try await scene.acting.change("update", "Message", message)
            for socket in scene.all { f.check(!socket.history.contains { $0.operation == "patch" }, "patch") }
        },
        Rule("15", "operation packets, type and identity_type are in both versions") { f in
            let scene = try await Scene(f)
            try await scene.sent("x")
            try await scene.ben.does("POST", Layer.path(scene.conversation) + "/mark_all_read", [:])
            for socket in scene.all {
                _ = try await socket.nextPacket("the operation", deadline: Fixture.deadline) { $0.type == "operation" }
            }
            let identity = try await scene.ana.get("/identities/\(scene.ana.userID)")
            f.equal([identity["type"], identity["identity_type"]], ["user", "user"])
        },
        Rule(
            "15",
            "a changed message is a Message create with the whole message to 2.0 sockets, an update to 3.0 sockets",
            .doc
        ) { f in
            let users = try await f.users("ana", "ben")
            let sockets = [try await users[1].socket(version: .v2), try await users[1].socket(version: .v3)]
            let conversation = try await users[0].converse(users[1])
            let id = try await users[0].sendID("x", to: conversation)
            for socket in sockets { try await socket.message("x") }
            try await users[0].does("PUT", Layer.path(id) + "/parts/0", ["mime_type": "text/plain", "body": "changed"])
            f.equal(try await sockets[0].message("changed").objectID, id)
            f.check(
                try await sockets[1].change("update", "MessagePart").data.has("set", "body", value: "changed"),
                "no update")
        },
    ]
}
