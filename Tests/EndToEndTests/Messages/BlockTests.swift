// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// The effects of blocks on clients. The tests of the conversations service cover who sees which messages, in every
    /// combination.
    @Suite("blocks")
    struct BlockTests {
        /// Ana, Ben and Cleo in one conversation, each with a socket. Ben's socket is at another gateway.
        private struct Scene {
            let users: [TestUser]
            let sockets: [ProtocolSocket]
            let conversation: Conversation
            var ana: TestUser { users[0] }
            var ben: TestUser { users[1] }
            var cleo: TestUser { users[2] }

            init() async throws {
                let app = try await Cluster.shared().app()
                users = [
                    try await app.signIn("ana"), try await app.signIn("ben", via: 1), try await app.signIn("cleo"),
                ]
                var sockets: [ProtocolSocket] = []
                for user in users { sockets.append(try await user.open()) }
                conversation = try await users[0].converse(with: Array(users.dropFirst()))
                for socket in sockets { try await socket.change("create", "Conversation", conversation.id) }
                self.sockets = sockets
            }

            func messages(of user: TestUser) async throws -> [String] {
                let answer = try await user.does("GET", conversation.path + "/messages")
                return try #require(answer.json.array).reversed().compactMap { $0["parts"][0]["body"].string }
            }
        }

        private func isBlocked(_ value: Bool) -> @Sendable (JSONValue) -> Bool {
            { $0.array?.contains { $0["property"].string == "blocked" && $0["value"].bool == value } == true }
        }

        @Test("a block list is changed, paged, and sent to the user's own sockets only, live and by a replay")
        func list() async throws {
            let scene = try await Scene()
            let second = try await scene.ana.open(via: 1)
            let before = Date()
            let blocked = try await scene.ana.does("PUT", "/blocks/users/ben")
            #expect(blocked.status == 204 && blocked.header("Strata-User-Position") != nil)
            for socket in [scene.sockets[0], second] {
                let packet = try await socket.change("update", "Identity", scene.ben.identity, where: isBlocked(true))
                #expect(packet.body["user_position"].int.map(String.init) == blocked.header("Strata-User-Position"))
            }
            try await scene.ana.does("PUT", "/blocks/users/cleo")
            try await scene.ana.does("PUT", "/blocks/users/never%2Fseen")
            // A block without effect is not announced.
            #expect(try await scene.ana.does("PUT", "/blocks/users/ben").header("Strata-User-Position") == nil)
            let all = try await scene.ana.does("GET", "/blocks")
            #expect(all.json.array?.compactMap { $0["user_id"].string } == ["ben", "cleo", "never/seen"])
            #expect(
                all.json[0]["id"].string == scene.ben.identity && all.header("Layer-Count") == "3"
                    && all.header("Link") == nil)
            let page = try await scene.ana.does("GET", "/blocks?page_size=1")
            #expect(page.json.array?.count == 1 && page.header("Link")?.contains("from_id=") == true)
            let rest = try await scene.ana.does("GET", "/blocks?from_id=\(scene.ben.identity)")
            #expect(rest.json.array?.compactMap { $0["user_id"].string } == ["cleo", "never/seen"])
            try await scene.ana.does("DELETE", "/blocks/users/cleo")
            try await scene.sockets[0].change("update", "Identity", scene.cleo.identity, where: isBlocked(false))
            #expect(try await scene.ben.does("GET", "/blocks").json.array == [])

            let own = try await scene.ana.call("PUT", "/blocks/users/ana")
            #expect(own.status == 422 && own.json["data"]["property"].string == "user_id")
            let back = try await scene.ana.openSilent()
            _ = try await back.ask("Event.replay", nil, ["from_timestamp": .string(before.formatted(.iso8601))])
            for (user, isBlocked) in [(scene.ben, true), (scene.cleo, true), (scene.cleo, false)] {
                try await back.change("update", "Identity", user.identity, where: self.isBlocked(isBlocked))
            }
            for socket in scene.sockets.dropFirst() {
                #expect(!socket.history.contains { $0.description.contains("blocked") })
            }
            for socket in scene.sockets { #expect(socket.faults == []) }
        }

        @Test("users whose ids differ only in normalization are two users with separate changes")
        func normalization() async throws {
            let app = try await Cluster.shared().app()
            let (composed, decomposed) = (try await app.signIn("caf\u{e9}"), try await app.signIn("cafe\u{301}"))
            let sockets = [try await composed.open(), try await decomposed.open()]
            try await composed.does("PUT", "/blocks/users/cafe%CC%81")
            try await sockets[0].change("update", "Identity", "layer:///identities/cafe%CC%81", where: isBlocked(true))
            try await decomposed.does("PUT", "/blocks/users/ben")
            try await sockets[1].change("update", "Identity", "layer:///identities/ben", where: isBlocked(true))
            #expect(
                try await composed.does("GET", "/blocks").json.array?.compactMap { $0["id"].string } == [
                    "layer:///identities/cafe%CC%81"
                ])
            #expect(
                try await decomposed.does("GET", "/blocks").json.array?.compactMap { $0["id"].string } == [
                    "layer:///identities/ben"
                ])
            for socket in sockets { #expect(socket.faults == []) }
        }

        @Test("blocks hide messages in both directions, live, in lists and in replays; sender and third users see them")
        func messages() async throws {
            let scene = try await Scene()
            let (ana, ben, cleo, conversation) = (scene.ana, scene.ben, scene.cleo, scene.conversation)
            let before = Date()
            try await ben.send("1", to: conversation)
            try await ana.does("PUT", "/blocks/users/ben")
            let hidden = try await ben.send("2", to: conversation)
            try await ana.send("3", to: conversation)
            try await cleo.send("4", to: conversation)
            for socket in scene.sockets { try await socket.message("4") }
            let expected = [["1", "3", "4"], ["1", "2", "4"], ["1", "2", "3", "4"]]
            for (index, user) in scene.users.enumerated() {
                #expect(try await scene.messages(of: user) == expected[index])
                let told = scene.sockets[index].history.filter { $0.isChange("create", of: "Message") }
                #expect(told.compactMap { $0.data["parts"][0]["body"].string } == expected[index])
                // The counts from packets must equal those of the view.
                let view = try await user.view(of: conversation)
                let replica = try #require(scene.sockets[index].replica(of: conversation))
                #expect(
                    replica.total == view["total_message_count"].int
                        && replica.unread == view["unread_message_count"].int)
                #expect(view["last_message"]["parts"][0]["body"].string == "4")
            }
            #expect(try await ana.call("GET", layerPath(hidden)).status == 404)
            try await ana.does("POST", conversation.path + "/mark_all_read", [:])
            try await cleo.send("5", to: conversation)
            for socket in scene.sockets { try await socket.message("5") }
            let seen = try await ben.does("GET", layerPath(hidden)).json["recipient_status"]
            #expect(seen[ana.identity].string == "sent")
            // The sender is not told of the reading either, neither for the single message nor by "all read".
            let toBen = scene.sockets[1].history
            #expect(
                !toBen.contains {
                    $0.objectType == "Message" && $0.operation == "update" && $0.body["object"]["id"].string == hidden
                })
            #expect(!toBen.contains { $0.body["method"].string == "Conversation.mark_all_read" })

            try await ana.does("DELETE", "/blocks/users/ben")
            try await ben.send("6", to: conversation)
            try await scene.sockets[0].message("6")
            #expect(try await scene.messages(of: ana) == ["1", "3", "4", "5", "6"])
            let back = try await ana.openSilent()
            _ = try await back.ask("Event.replay", nil, ["from_timestamp": .string(before.formatted(.iso8601))])
            try await back.message("6")
            let replayed = back.history.filter { $0.isChange("create", of: "Message") }
                .compactMap { $0.data["parts"][0]["body"].string }
            #expect(replayed == ["1", "3", "4", "5", "6"])
            for socket in scene.sockets + [back] { #expect(socket.faults == []) }
        }

        @Test(
            "a blocked user's conversation appears when another user writes, and changes of hidden messages reach only others"
        )
        func conversations() async throws {
            let scene = try await Scene()
            let (ana, ben, cleo) = (scene.ana, scene.ben, scene.cleo)
            try await ana.does("PUT", "/blocks/users/ben")
            let created = try await ben.converse(with: [ana, cleo], distinct: false)
            let hidden = try await ben.send("hidden", to: created)
            let part: JSONValue = ["mime_type": "text/plain", "body": "changed"]
            try await ben.does("POST", layerPath(hidden) + "/parts", part)
            try await scene.sockets[2].change("update", "Message", hidden)
            try await ben.does("DELETE", layerPath(hidden) + "?mode=all_participants")
            try await scene.sockets[2].change("delete", "Message", hidden)
            #expect(try await ana.call("GET", created.path).status == 404)
            try await cleo.send("shown", to: created)
            try await scene.sockets[0].message("shown")
            let told = scene.sockets[0].packets(of: created)
            #expect(told.first?.isChange("create", of: "Conversation", id: created.id) == true)
            #expect(!scene.sockets[0].history.contains { $0.description.contains(hidden) })
            #expect(try await ana.view(of: created)["total_message_count"].int == 1)
            for socket in scene.sockets { #expect(socket.faults == []) }
        }

        @Test("typing and presence stop in both directions, and resume after the block")
        func ephemeral() async throws {
            let scene = try await Scene()
            let (anas, bens) = (scene.sockets[0], scene.sockets[1])
            for socket in [anas, bens] {
                #expect(try await socket.ask("Presence.subscribe").isSuccess)
                #expect(try await socket.ask("Presence.update", nil, [set("status", "available")]).isSuccess)
            }
            try await anas.change("update", "Identity", scene.ben.identity) {
                $0.has("set", property: "presence.status", value: "available")
            }
            try await scene.ana.does("PUT", "/blocks/users/ben")
            for (socket, other) in [(anas, scene.ben), (bens, scene.ana)] {
                try await socket.change("update", "Identity", other.identity) {
                    $0.has("set", property: "presence.status", value: "offline")
                }
            }
            #expect(try await bens.ask("Presence.update", nil, [set("status", "busy")]).isSuccess)
            let sync = try await anas.ask("Presence.sync", nil, ["ids": [.string(scene.ben.identity)]])
            #expect(sync.data["changes"][0]["data"].has("set", property: "presence.status", value: "offline"))
            // Only Cleo receives both typing signals.
            try await eventually("cleo sees ana and ben type") {
                for socket in [anas, bens] { try await socket.typing("started", in: scene.conversation.id) }
                let typists = scene.sockets[2].history.filter { $0.isTyping() }
                    .compactMap { $0.data["sender"]["user_id"].string }
                return Set(typists) == ["ana", "ben"]
            }
            for (index, user) in scene.users.enumerated() {
                try await user.send("after \(index)", to: scene.conversation)
            }
            for socket in [anas, bens] {
                try await socket.message("after 2")
                #expect(!socket.history.contains { $0.isTyping() })
                #expect(!socket.history.contains { $0.description.contains("\"busy\"") && socket === anas })
            }
            try await scene.ana.does("DELETE", "/blocks/users/ben")
            try await anas.change("update", "Identity", scene.ben.identity) {
                $0.has("set", property: "presence.status", value: "busy")
            }
            try await eventually("ana sees ben type") {
                try await bens.typing("started", in: scene.conversation.id)
                return anas.history.contains { $0.isTyping() }
            }
        }

        @Test("an app's own server reads and changes a block list, in the form of each version")
        func server() async throws {
            let scene = try await Scene()
            var server = AppServer(scene.ana.app)
            try await server.does("POST", as: "ana", "/blocks", ["user_id": "ben"])
            try await scene.sockets[0].change("update", "Identity", scene.ben.identity, where: isBlocked(true))
            let list = try await server.does("GET", as: "ana", "/blocks")
            #expect(list.json[0]["id"].string == scene.ben.identity && list.header("Layer-Count") == "1")
            #expect(try await server.call("GET", "/users/nobody/blocks").status == 404)
            server.version = "1.0"
            #expect(try await server.does("GET", as: "ana", "/blocks").json == [["user_id": "ben"]])
            #expect(try await server.does("GET", as: "nobody", "/blocks").json == [])
            #expect(try await server.call("POST", "/users/ana/blocks", [:]).json["id"].string == "missing_property")
            // An unknown user has a block list as soon as it has an entry.
            #expect(try await server.does("POST", as: "new", "/blocks", ["user_id": "ana"]).status == 204)
            #expect(try await server.does("GET", as: "new", "/blocks").json == [["user_id": "ana"]])
            #expect(try await server.does("DELETE", as: "ana", "/blocks/ben").status == 204)
            #expect(try await server.does("DELETE", as: "ana", "/blocks/ben").status == 204)
            try await scene.sockets[0].change("update", "Identity", scene.ben.identity, where: isBlocked(false))
            #expect(try await server.does("GET", as: "ana", "/blocks").json == [])
        }
    }
}
