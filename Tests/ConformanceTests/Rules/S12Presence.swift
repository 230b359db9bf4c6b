// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 12.8: presence.
extension S12Sync {
    // MARK: 12.8

    private static func setStatus(_ socket: ProtocolSocket, _ status: String, line: UInt = #line) async throws {
        try await socket.does("Presence.update", nil, [set("status", .string(status))], line: line)
    }

    private static func seen(_ socket: ProtocolSocket, _ status: String, of user: User) async throws -> ReceivedPacket {
        try await socket.change("update", "Identity", user.id) {
            $0.has("set", "presence.status", value: .string(status))
        }
    }

    private static func status(_ socket: ProtocolSocket, of user: User) async throws -> String? {
        let data = try await socket.does("Presence.sync", nil, ["ids": [.string(user.id)]])
        let change = (data["changes"].array ?? []).first { $0["object"]["id"].string == user.id }
        return change?["data"].operation("presence.status")?["value"].string
    }

    /// Signs in Ana and Ben, who follow each other, each with a socket. Ben's socket has subscribed to presence.
    private static func followers(
        _ f: Fixture
    ) async throws -> (ana: User, ben: User, anas: ProtocolSocket, bens: ProtocolSocket, id: String) {
        let users = try await f.users("ana", "ben")
        let (anas, bens) = (try await users[0].socket(), try await users[1].socket())
        let id = try await users[0].converse(users[1])
        for socket in [anas, bens] { try await socket.change("create", "Conversation", id) }
        try await bens.does("Presence.subscribe")
        return (users[0], users[1], anas, bens, id)
    }

    static let presence: [Rule] = [
        Rule("12.8", "Presence.update takes available, busy, away, offline, invisible and auto") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for status in ["available", "busy", "away", "offline", "invisible", "auto"] {
                try await setStatus(socket, status)
            }
        },
        Rule("12.8", "another status is invalid_property status") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for value: JSONValue in ["sleeping", "", 5, nil] {
                f.refused(
                    try await socket.ask("Presence.update", nil, [set("status", value)]), "invalid_property",
                    property: "status")
            }
        },
        Rule("12.8", "Presence.update that is no array of operations is refused") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for data: JSONValue? in [nil, "auto", ["status": "auto"], ["auto"]] {
                let answer = try await socket.ask("Presence.update", nil, data)
                f.check(!answer.isSuccess && answer.data["code"].int != nil, "\(data ?? "none"): \(answer.packet.body)")
            }
        },
        Rule("12.8", "subscribed followers and the user's own subscribed sockets see the status as it is set") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await anas.does("Presence.subscribe")
            for status in ["busy", "away", "available"] {
                try await setStatus(anas, status)
                for socket in [bens, anas] { _ = try await seen(socket, status, of: ana) }
            }
        },
        Rule("12.8", "presence is patched leaf by leaf: presence.status and presence.last_seen_at") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            for packet in bens.history where packet.isChange("update", of: "Identity") {
                for operation in packet.data.array ?? [] {
                    f.equal(operation["operation"], "set")
                    f.check(
                        ["presence.status", "presence.last_seen_at"].contains(operation["property"].string),
                        "\(operation)")
                }
            }
        },
        Rule("12.8", "offline and invisible are offline to others; to oneself invisible is what was set") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await anas.does("Presence.subscribe")
            for status in ["invisible", "offline"] {
                try await setStatus(anas, "available")
                _ = try await seen(bens, "available", of: ana)
                try await setStatus(anas, status)
                _ = try await seen(bens, "offline", of: ana)
                f.equal(try await Self.status(bens, of: ana), "offline")
                f.check(["invisible", "offline"].contains(try await Self.status(anas, of: ana)), "to Ana")
            }
            f.check(
                !bens.history.contains { $0.data.has("set", "presence.status", value: "invisible") },
                "invisible was shown")
        },
        Rule("12.8", "invisible does not advance last_seen_at") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let lastSeen = {
                let data = try await bens.does("Presence.sync", nil, ["ids": [.string(ana.id)]])
                return data["changes"][0]["data"].operation("presence.last_seen_at")?["value"] ?? .null
            }
            try await setStatus(anas, "invisible")
            f.equal(try await lastSeen(), .null, "never seen")
            try await setStatus(anas, "available")
            let available = try await lastSeen()
            f.check(Layer.isTimestamp(available.string), "\(available)")
            try await setStatus(anas, "invisible")
            let hidden = try await lastSeen()
            try await setStatus(anas, "offline")
            f.equal(try await lastSeen(), hidden)
        },
        Rule("12.8", "auto is the last status the user chose, or available") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            try await setStatus(socket, "auto")
            f.equal(try await status(socket, of: ana), "available")
            try await setStatus(socket, "away")
            try await setStatus(socket, "auto")
            f.equal(try await status(socket, of: ana), "away")
            let later = try await ana.socket(gateway: 1)
            try await setStatus(later, "auto")
            f.equal(try await status(later, of: ana), "away")
        },
        Rule("12.8", "a client that has not subscribed is told nothing, and subscribing dumps nothing") { f in
            let users = try await f.users("ana", "ben")
            let (anas, bens) = (try await users[0].socket(), try await users[1].socket())
            let id = try await users[0].converse(users[1])
            for socket in [anas, bens] { try await socket.change("create", "Conversation", id) }
            try await setStatus(anas, "busy")
            f.equal(try await status(bens, of: users[0]), "busy")
            try await bens.does("Presence.subscribe")
            try await users[0].send("fence", to: id)
            try await bens.message("fence")
            f.check(!bens.history.contains { $0.isChange("update", of: "Identity") }, "told")
            try await setStatus(anas, "away")
            _ = try await seen(bens, "away", of: users[0])
        },
        Rule("12.8", "the subscription is the connection's own") { f in
            let (ana, ben, anas, bens, id) = try await followers(f)
            let another = try await ben.socket()
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            try await ana.send("fence", to: id)
            try await another.message("fence")
            f.check(!another.history.contains { $0.isChange("update", of: "Identity") }, "told")
        },
        Rule("12.8", "users one does not follow are not told of") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let cleo = try await f.user("cleo")
            let cleos = try await cleo.socket()
            try await setStatus(cleos, "busy")
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            f.check(!bens.history.contains { $0.objectID == cleo.id }, "told of Cleo")
        },
        Rule("12.8", "after unsubscribing nothing more is told", .doc) { f in
            let (ana, _, anas, bens, id) = try await followers(f)
            try await bens.does("Presence.unsubscribe")
            let start = bens.receivedCount
            try await setStatus(anas, "busy")
            try await ana.send("fence", to: id)
            try await bens.message("fence")
            f.check(!bens.packets(from: start).contains { $0.isChange("update", of: "Identity") }, "told")
        },
        Rule("12.8", "a user is as present as the best of their connections") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let another = try await ana.socket(gateway: 1)
            try await setStatus(anas, "available")
            _ = try await seen(bens, "available", of: ana)
            try await setStatus(another, "available")
            await another.close()
            f.equal(try await status(bens, of: ana), "available")
        },
        Rule("12.8", "Presence.sync with ids answers with an update for each that has a presence") { f in
            let (ana, ben, anas, bens, _) = try await followers(f)
            try await setStatus(anas, "away")
            try await setStatus(bens, "busy")
            let data = try await bens.does("Presence.sync", nil, ["ids": [.string(ana.id), .string(ben.id)]])
            for (user, status) in [(ana, "away"), (ben, "busy")] {
                let change = (data["changes"].array ?? []).first { $0["object"]["id"].string == user.id }
                f.equal(change?["operation"], "update")
                f.equal(
                    change?["object"],
                    [
                        "type": "Identity", "id": .string(user.id),
                        "url": .string(f.system.publicURL + Layer.path(user.id)),
                    ])
                f.check(
                    change?["data"].has("set", "presence.status", value: .string(status)) == true, "\(change ?? "none")"
                )
                f.check(
                    Layer.isTimestamp(change?["data"].operation("presence.last_seen_at")?["value"].string),
                    "\(change ?? "none")")
            }
        },
        Rule(
            "12.8", "Presence.sync is always answered with the array changes, also for no ids and for users never seen"
        ) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for data: JSONValue in [
                ["ids": []], ["ids": [.string(Layer.identity(f.stranger()))]], ["since": "2019-01-01T00:00:00.000Z"],
                ["since": "2100-01-01T00:00:00.000Z"],
                ["ids": ["layer:///identities/a%20b", "layer:///identities/c.d"]],
            ] {
                let answer = try await socket.ask("Presence.sync", nil, data)
                f.check(answer.isSuccess && answer.data["changes"].array != nil, "\(data): \(answer.data)")
            }
        },
        Rule("12.8", "Presence.sync without ids or since, or with something else, is answered at any rate") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for data: JSONValue? in [nil, [:], ["ids": "x"], ["since": "yesterday"], ["ids": [5]]] {
                let answer = try await socket.ask("Presence.sync", nil, data)
                f.check(
                    answer.isSuccess ? answer.data["changes"].array != nil : answer.data["id"].string != nil,
                    "\(answer.packet.body)")
            }
        },
        Rule("12.8", "Presence.sync since a time tells of the followed whose presence changed after it") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let before = try await bens.ask("Counter.read").packet.timestamp ?? ""
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            let data = try await bens.does("Presence.sync", nil, ["since": .string(before)])
            let change = (data["changes"].array ?? []).first { $0["object"]["id"].string == ana.id }
            f.check(change?["data"].has("set", "presence.status", value: "busy") == true, "\(data)")
            let none = try await bens.does("Presence.sync", nil, ["since": "2100-01-01T00:00:00.000Z"])
            f.equal(none["changes"], [])
        },
        Rule("12.8", "presence ends some time after the last connection", slow: true) { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            await anas.abort()
            _ = try await bens.nextPacket("offline", deadline: .now + .seconds(100)) {
                $0.isChange("update", of: "Identity", id: ana.id)
                    && $0.data.has("set", "presence.status", value: "offline")
            }
            f.equal(try await status(bens, of: ana), "offline")
        },
    ]
}
