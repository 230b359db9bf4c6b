// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataCommand
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    /// User management by an app's own server: identities, suspension, sessions, following, erasing.
    @Suite("an app's own server and its users")
    struct UserManagementTests {
        // MARK: Identities

        @Test(
            "an identity is created, read in each version, patched, replaced and deleted; its followers and its user are notified"
        )
        func identities() async throws {
            let app = try await Cluster.shared().app()
            let server = AppServer(app)
            #expect(try await server.call("GET", "/users/ana/identity").errorID == "not_found")
            let body: JSONValue = [
                "display_name": "Ana", "avatar_url": "https://example.org/a.png", "metadata": ["team": "blue"],
                "identity_type": "bot", "unknown": 1,
            ]
            let created = try await server.call("POST", "/users/ana/identity", body)
            #expect(created.status == 201 && created.body.isEmpty && created.header("Content-Type") == nil)
            #expect(try await server.call("POST", "/users/ana/identity", body).errorID == "id_in_use")
            let read = try await server.call("GET", "/users/ana/identity").json
            let members: Set = [
                "id", "url", "user_id", "display_name", "avatar_url", "first_name", "last_name", "phone_number",
                "email_address", "public_key",
                "identity_type", "metadata",
            ]
            #expect(Set(read.object?.keys.map { $0 } ?? []) == members)
            #expect(
                read["identity_type"].string == "bot" && read["first_name"] == .null
                    && read["metadata"]["team"].string == "blue")
            let path = try #require(read["url"].string.flatMap { URL(string: $0)?.path(percentEncoded: true) })
            #expect(path == "/apps/\(server.appID)/users/ana/identity")
            #expect(try await server.call("GET", "/identities/ana").json == read)
            var older = server
            older.version = "2.0"
            let second = try await older.call("GET", "/users/ana/identity").json
            #expect(second["type"].string == "Bot" && second["identity_type"] == .null)

            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            _ = try await ben.converse(with: [ana])
            let sockets = [try await ana.open(), try await ben.open()]
            try await succeeds(
                server.call(
                    "PATCH", "/users/ana/identity", [set("display_name", "Anna"), set("metadata.team", "red")]), 204)
            for socket in sockets {
                let packet = try await socket.change("update", "Identity", ana.identity) { data in
                    data.array?.contains { $0["property"].string == "display_name" && $0["value"].string == "Anna" }
                        == true
                }
                #expect(
                    packet.data.array?
                        .contains { $0["property"].string == "identity_type" && $0["value"].string == "bot" } == true)
            }
            #expect(try await ben.does("GET", "/identities/ana").json["metadata"]["team"].string == "red")
            try await succeeds(server.call("PUT", "/users/ana/identity", ["display_name": "A"]), 204)
            #expect(try await server.call("GET", "/users/ana/identity").json["avatar_url"] == .null)
            try await succeeds(server.call("DELETE", "/users/ana/identity"), 204)
            for socket in sockets {
                try await socket.change("update", "Identity", ana.identity) { data in
                    data.array?.contains { $0["property"].string == "display_name" && $0["value"] == .null } == true
                }
            }
            #expect(try await server.call("DELETE", "/users/ana/identity").errorID == "not_found")
            #expect(
                try await server.call("PATCH", "/users/ana/identity", [set("first_name", "A")]).errorID == "not_found")
            try await succeeds(ana.call("GET", "/conversations"), 200)
        }

        @Test("an invalid identity property is refused by name, and nothing is stored")
        func wrongIdentities() async throws {
            let app = try await Cluster.shared().app()
            let server = AppServer(app)
            let long = JSONValue.string(String(repeating: "x", count: 129))
            let many = JSONValue.object(Dictionary(uniqueKeysWithValues: (1...17).map { ("k\($0)", .string("x")) }))
            let bodies: [(JSONValue, String, String)] = [
                ([:], "missing_property", "display_name"),
                (["display_name": .null], "missing_property", "display_name"),
                (["display_name": 1], "invalid_property", "display_name"),
                (["display_name": long], "invalid_property", "display_name"),
                (["display_name": ""], "invalid_property", "display_name"),
                (
                    ["display_name": "A", "phone_number": .string(String(repeating: "1", count: 33))],
                    "invalid_property", "phone_number"
                ),
                (
                    ["display_name": "A", "email_address": .string(String(repeating: "e", count: 256))],
                    "invalid_property", "email_address"
                ),
                (
                    ["display_name": "A", "avatar_url": .string(String(repeating: "u", count: 1025))],
                    "invalid_property", "avatar_url"
                ),
                (["display_name": "A", "identity_type": "robot"], "invalid_property", "identity_type"),
                (["display_name": "A", "metadata": ["a": ["b": "c"]]], "invalid_property", "metadata.a"),
                (["display_name": "A", "metadata": many], "invalid_property", "metadata"),
                (["display_name": "A", "user_id": "ben"], "invalid_property", "user_id"),
            ]
            for (body, id, property) in bodies {
                for method in ["POST", "PUT"] {
                    let answer = try await server.call(method, "/users/ana/identity", body)
                    #expect("\(answer.status) \(answer.errorID ?? "")" == "422 \(id)", "\(body)")
                    #expect(answer.json["data"]["property"].string == property, "\(body)")
                }
            }
            #expect(try await server.call("POST", "/users/ana/identity", [1]).errorID == "invalid_request")
            #expect(try await server.call("GET", "/users/ana").errorID == "not_found")
            try await succeeds(
                server.call("PUT", "/users/ana/identity", ["display_name": "A", "metadata": .null]), 204)
            let patches: [(JSONValue, String, String)] = [
                ([["operation": "delete", "property": "display_name"]], "invalid_property", "display_name"),
                ([set("display_name", .null)], "invalid_property", "display_name"),
                ([set("user_id", "b")], "invalid_property", "user_id"),
                ([set("metadata.a.b", "x")], "invalid_property", "metadata.a.b"),
                ([set("metadata", many)], "invalid_property", "metadata"),
                ([["operation": "add", "property": "first_name", "value": "x"]], "invalid_operation", "first_name"),
                ([["operation": "grow", "property": "first_name"]], "invalid_operation", "0.operation"),
                ([["operation": "set", "property": "first_name"]], "missing_property", "0.value"),
                ([set("first_name", "kept out"), set("nothing", "x")], "invalid_property", "nothing"),
            ]
            for (patch, id, property) in patches {
                let answer = try await server.call("PATCH", "/users/ana/identity", patch)
                #expect(answer.errorID == id && answer.json["data"]["property"].string == property, "\(patch)")
            }
            #expect(try await server.call("GET", "/users/ana/identity").json["first_name"] == .null)
            try await succeeds(server.call("PATCH", "/users/ana/identity", []), 204)
        }

        // MARK: Suspension and sessions

        @Test("a suspension closes the user's sockets on all gateways and refuses requests and sign-ins until it ends")
        func suspension() async throws {
            let app = try await Cluster.shared().app()
            let (ana, again) = (try await app.signIn("ana"), try await app.signIn("ana", via: 1))
            let sockets = [try await ana.open(), try await again.open()]
            let server = AppServer(app)
            let answer = try await server.call("PATCH", "/users/ana", [set("suspended", true)])
            #expect(answer.status == 202 && answer.body.isEmpty)
            for socket in sockets { #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 4401) }
            for session in [ana, again] {
                try await eventually("refused") {
                    try await session.call("GET", "/conversations").errorID == "user_suspended"
                }
            }
            await #expect(throws: (any Error).self) { _ = try await app.signIn("ana") }
            let shown = try await server.call("GET", "/users/ana").json
            #expect(
                shown["suspended"].bool == true && shown["id"].string == ana.identity
                    && shown["identity"]["display_name"].string == "Ana")
            try await succeeds(server.call("GET", "/users/ana/conversations"), 200)
            try await succeeds(server.call("PATCH", "/users/ana", [set("suspended", false)]), 202)
            try await eventually("let in again") { try await ana.call("GET", "/conversations").status == 200 }
            for patch in [[set("suspended", "yes")], [set("name", "x")]] as [JSONValue] {
                #expect(try await server.call("PATCH", "/users/ana", patch).errorID == "invalid_property")
            }
            // The patch is atomic: it is refused because it blocks more users than the limit.
            let tooMany = JSONValue.array((0...10_000).map { .string("u\($0)") })
            let refused = try await server.call(
                "PATCH", "/users/ana", [set("suspended", true), set("blocks", tooMany)])
            #expect(refused.errorID == "invalid_property" && refused.json["data"]["property"] == "blocks")
            #expect(try await server.call("GET", "/users/ana").json["suspended"] == false)
            #expect(try await server.call("PATCH", "/users/nobody", [set("suspended", true)]).errorID == "not_found")
            #expect(try await server.call("PATCH", "/users/nobody", []).errorID == "not_found")
        }

        @Test(
            "sessions are listed without tokens and ended singly or together; their sockets close with 4401 on all gateways"
        )
        func sessions() async throws {
            let app = try await Cluster.shared().app()
            let users = [try await app.signIn("ana"), try await app.signIn("ana", via: 1), try await app.signIn("ana")]
            let sockets = [try await users[0].open(), try await users[1].open(), try await users[2].open(via: 1)]
            let server = AppServer(app)
            let list = try await server.call("GET", "/users/ana/sessions")
            #expect(list.header("Layer-Count") == "3")
            let sessions = try #require(list.json.array)
            for session in sessions {
                #expect(
                    Set(session.object?.keys.map { $0 } ?? []) == [
                        "id", "url", "created_at", "last_used_at", "expires_at",
                    ])
                for user in users { #expect(!session.text.contains(user.token)) }
            }
            let page = try await server.call(
                "GET", "/users/ana/sessions?page_size=1&from_id=\(sessions[0]["id"].string ?? "")")
            #expect(page.json.array?.count == 1 && page.json[0]["id"] == sessions[1]["id"])
            #expect(page.header("Link")?.contains("/apps/\(server.appID)/users/ana/sessions?") == true)
            // The newest session is that of the last sign-in.
            let url = try #require(sessions[0]["url"].string.flatMap { URL(string: $0)?.path(percentEncoded: true) })
            let own = String(url.dropFirst("/apps/\(server.appID)".count))
            try await succeeds(server.call("DELETE", own), 204)
            #expect(try await sockets[2].waitForClose(deadline: Waiting.deadline).code == 4401)
            #expect(try await server.call("DELETE", own).errorID == "not_found")
            #expect(try await sockets[0].ask("Counter.read").isSuccess)
            try await eventually("ended") {
                try await users[2].call("GET", "/conversations").errorID == "authentication_required"
            }
            try await succeeds(server.call("DELETE", "/users/ana/sessions"), 204)
            for socket in sockets.prefix(2) {
                #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 4401)
            }
            let refused = try await users[0].call("GET", "/conversations")
            #expect(refused.errorID == "authentication_required" && refused.json["data"]["nonce"].string != nil)
            #expect(try await server.call("GET", "/users/ana/sessions").json == [])
            try await succeeds(server.call("DELETE", "/users/ana/sessions"), 204)
        }

        @Test("an app decides the lifetime of an unused session")
        func lifetime() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let server = AppServer(app)
            func remaining() async throws -> [Double] {
                let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
                let sessions = try await server.call("GET", "/users/ana/sessions").json.array ?? []
                return try sessions.map {
                    try Date($0["expires_at"].string ?? "", strategy: format).timeIntervalSinceNow
                }
            }
            #expect(try await remaining().allSatisfy { $0 > 86_400 })
            let answer = try await server.call("PATCH", "", [set("session_ttl_in_seconds", 3600)])
            #expect(answer.status == 202)
            #expect(try await remaining().allSatisfy { $0 <= 3660 })
            _ = try await app.signIn("ana")
            #expect(try await remaining().count == 2)
            #expect(try await remaining().allSatisfy { $0 <= 3660 })
            for wrong in [29, 31_536_001, 30.5, "60", true] as [JSONValue] {
                let refused = try await server.call("PATCH", "", [set("session_ttl_in_seconds", wrong)])
                #expect(refused.json["data"]["property"].string == "session_ttl_in_seconds", "\(wrong)")
            }
            #expect(try await server.call("PATCH", "", [set("name", "x")]).errorID == "invalid_property")
            let unread = try await server.call("GET", "")
            #expect(
                "\(unread.status) \(unread.errorID ?? "")" == "405 method_not_allowed"
                    && unread.header("Allow") == "PATCH")
        }

        // MARK: Following

        @Test("a list of followed users has 500 users per page")
        func following() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ana")
            let server = AppServer(app)
            try await server.does("POST", as: "ana", "/following", .array((1...501).map { .string("user\($0)") }))
            for path in ["/following", "/identities"] {
                let page = try await server.does("GET", as: "ana", path)
                #expect(page.json.array?.count == 500 && page.header("Layer-Count") == "501", "\(path)")
                #expect(try await server.does("GET", as: "ana", path + "?page_size=2").json.array?.count == 2)
            }
        }

        // MARK: Erasing

        @Test(
            "an erasure ends sessions and empties the user's messages, all readers are notified, and it is repeatable")
        func erasing() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            let old = try await app.signIn("ben", version: .v2)
            let conversation = try await ana.converse(with: [ben])
            let message = try await ana.send("secret words", to: conversation)
            let bens = try await ben.send("an answer", to: conversation)
            let content = try await ana.upload(Data("secret file".utf8))
            let file = try await ana.does("POST", conversation.path + "/messages", content.message).json
            let sockets = [try await ben.open(), try await old.open()]
            let anas = try await ana.open()
            let server = AppServer(app)
            for _ in 0..<2 { try await succeeds(server.call("DELETE", "/users/ana"), 202) }
            #expect(try await anas.waitForClose(deadline: Waiting.deadline).code == 4401)
            try await sockets[0]
                .change("update", "Message", message) { data in
                    data.array?.contains { $0["property"].string == "parts" && $0["value"] == [] } == true
                }
            // Version 2.0 has no changes of parts: clients merge a message with the same id.
            try await sockets[1].change("create", "Message", message) { $0["parts"] == [] }
            for (reader, version) in [(ben, "3.0"), (old, "2.0")] {
                // A service may show a cached name for 5 s.
                try await eventually("all parts and names are gone, \(version)") {
                    try await reader.does("GET", conversation.path + "/messages").json.array?
                        .allSatisfy {
                            $0["id"].string == bens || $0["parts"] == [] && $0["sender"]["display_name"] == .null
                        } == true
                }
                let messages = try #require(try await reader.does("GET", conversation.path + "/messages").json.array)
                #expect(messages.map { $0["id"].string } == [file["id"].string, bens, message])
                let senders = messages.filter { $0["id"].string != bens }.map { $0["sender"]["user_id"].string }
                #expect(senders == ["ana", "ana"])
                #expect(try await reader.does("GET", layerPath(message) + "/parts").json == [])
            }
            #expect(try await ben.does("GET", conversation.path).json["last_message"]["parts"] == [])
            #expect(try await ana.call("GET", "/conversations").errorID == "authentication_required")
            #expect(try await ben.call("GET", layerPath(content.id)).errorID == "not_found")
            #expect(try await server.call("GET", "/users/ana/identity").errorID == "not_found")
            // A client that was disconnected gets the same by a replay.
            let replayed = try await ben.open()
            let answer = try await replayed.ask("Event.replay", nil, ["from_timestamp": "2020-01-01T00:00:00.000Z"])
            #expect(answer.isSuccess)
            let isTold = replayed.history.contains { packet in
                packet.isChange("create", of: "Message", id: message) && packet.data["parts"] == []
            }
            #expect(isTold)
            // The user can sign in again, as a new user with the same id.
            let back = try await app.signIn("ana")
            #expect(try await back.does("GET", layerPath(message)).json["parts"] == [])
        }

        @Test(
            "the command erases a user and sends announcements, with a temporary token that it revokes, or a given one")
        func commands() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let ana = try await app.signIn("ana")
            let place = ["--app", app.id, "--url", cluster.urls[0]]
            let tokens = ServerTokenCommands(app, cluster)
            let announced = try await StrataProgram()
                .run(
                    ["announce"] + place + ["--database", cluster.databaseURL, "--from", "Ops", "--to", "ana", "News"])
            #expect(
                announced.status == 0 && announced.output.hasPrefix("Sent to 1 user: layer:///announcements/"),
                "\(announced.errorOutput)")
            let list = try await ana.does("GET", "/announcements").json
            #expect(list[0]["sender"]["display_name"].string == "Ops" && list[0]["parts"][0]["body"].string == "News")
            #expect(try await tokens.list().map(\.name) == ["first"])

            let unasked = try await StrataProgram().run(["user", "erase"] + place + ["--user", "ana"])
            #expect(unasked.errorOutput.contains("No user was erased."))
            let erased = try await StrataProgram()
                .run(
                    ["user", "erase"] + place + ["--user", "ana", "--yes"],
                    environment: ["STRATA_SERVER_TOKEN": app.app.serverToken])
            #expect(erased.status == 0 && erased.output.contains("ana  is erased"), "\(erased.errorOutput)")
            try await eventually("signed out") { try await ana.call("GET", "/conversations").status == 401 }
            let wrong = try await StrataProgram()
                .run(
                    ["user", "erase"] + place + ["--user", "ana", "--yes"],
                    environment: ["STRATA_SERVER_TOKEN": "wrong"])
            #expect(wrong.errorOutput.contains("Is STRATA_SERVER_TOKEN a token of this app?"))
        }
    }
}
