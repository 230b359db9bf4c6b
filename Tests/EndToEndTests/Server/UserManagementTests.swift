// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataCommand
import TestCluster
import TestSupport
import Testing

extension EndToEnd {
    /// What an app's own server does with users: identities, suspension, sessions, badges, announcements, erasing.
    @Suite("an app's own server and its users")
    struct UserManagementTests {
        // MARK: Identities

        @Test("an identity is created, read in each version, patched, replaced and deleted; its followers and its user are told at once")
        func identities() async throws {
            let app = try await Cluster.shared().app()
            let server = AppServer(app)
            #expect(try await server.call("GET", "/users/ana/identity").errorID == "not_found")
            let body: JSONValue = [
                "display_name": "Ana", "avatar_url": "https://example.org/a.png", "metadata": ["team": "blue"], "identity_type": "bot", "unknown": 1,
            ]
            let created = try await server.call("POST", "/users/ana/identity", body)
            #expect(created.status == 201 && created.body.isEmpty && created.header("Content-Type") == nil)
            #expect(try await server.call("POST", "/users/ana/identity", body).errorID == "id_in_use")
            let read = try await server.call("GET", "/users/ana/identity").json
            let members: Set = [
                "id", "url", "user_id", "display_name", "avatar_url", "first_name", "last_name", "phone_number", "email_address", "public_key",
                "identity_type", "metadata",
            ]
            #expect(Set(read.object?.keys.map { $0 } ?? []) == members)
            #expect(read["identity_type"].string == "bot" && read["first_name"] == .null && read["metadata"]["team"].string == "blue")
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
            try await succeeds(server.call("PATCH", "/users/ana/identity", [set("display_name", "Anna"), set("metadata.team", "red")]), 204)
            for socket in sockets {
                let packet = try await socket.change("update", "Identity", ana.identity) { data in
                    data.array?.contains { $0["property"].string == "display_name" && $0["value"].string == "Anna" } == true
                }
                #expect(packet.data.array?.contains { $0["property"].string == "identity_type" && $0["value"].string == "bot" } == true)
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
            #expect(try await server.call("PATCH", "/users/ana/identity", [set("first_name", "A")]).errorID == "not_found")
            try await succeeds(ana.call("GET", "/conversations"), 200)
        }

        @Test("what cannot be in an identity is refused by name, and nothing is written")
        func wrongIdentities() async throws {
            let app = try await Cluster.shared().app()
            let server = AppServer(app)
            let long = JSONValue.string(String(repeating: "x", count: 129))
            let many = JSONValue.object(Dictionary(uniqueKeysWithValues: (1...17).map { ("k\($0)", .string("x")) }))
            let bodies: [(JSONValue, String, String)] = [
                ([:], "missing_property", "display_name"), (["display_name": .null], "missing_property", "display_name"),
                (["display_name": 1], "invalid_property", "display_name"), (["display_name": long], "invalid_property", "display_name"),
                (["display_name": ""], "invalid_property", "display_name"),
                (["display_name": "A", "phone_number": .string(String(repeating: "1", count: 33))], "invalid_property", "phone_number"),
                (["display_name": "A", "email_address": .string(String(repeating: "e", count: 256))], "invalid_property", "email_address"),
                (["display_name": "A", "avatar_url": .string(String(repeating: "u", count: 1025))], "invalid_property", "avatar_url"),
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
            try await succeeds(server.call("PUT", "/users/ana/identity", ["display_name": "A", "metadata": .null]), 204)
            let patches: [(JSONValue, String, String)] = [
                ([["operation": "delete", "property": "display_name"]], "invalid_property", "display_name"),
                ([set("display_name", .null)], "invalid_property", "display_name"), ([set("user_id", "b")], "invalid_property", "user_id"),
                ([set("metadata.a.b", "x")], "invalid_property", "metadata.a.b"), ([set("metadata", many)], "invalid_property", "metadata"),
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

        @Test("a suspended user's sockets are closed on all gateways, and requests and sign-ins are refused until the suspension ends")
        func suspension() async throws {
            let app = try await Cluster.shared().app()
            let (ana, again) = (try await app.signIn("ana"), try await app.signIn("ana", via: 1))
            let sockets = [try await ana.open(), try await again.open()]
            let server = AppServer(app)
            let answer = try await server.call("PATCH", "/users/ana", [set("suspended", true)])
            #expect(answer.status == 202 && answer.body.isEmpty)
            for socket in sockets { #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 4401) }
            for session in [ana, again] {
                try await eventually("refused") { try await session.call("GET", "/conversations").errorID == "user_suspended" }
            }
            await #expect(throws: (any Error).self) { _ = try await app.signIn("ana") }
            let shown = try await server.call("GET", "/users/ana").json
            #expect(shown["suspended"].bool == true && shown["id"].string == ana.identity && shown["identity"]["display_name"].string == "Ana")
            try await succeeds(server.call("GET", "/users/ana/conversations"), 200)
            try await succeeds(server.call("PATCH", "/users/ana", [set("suspended", false)]), 202)
            try await eventually("let in again") { try await ana.call("GET", "/conversations").status == 200 }
            for patch in [[set("suspended", "yes")], [set("name", "x")]] as [JSONValue] {
                #expect(try await server.call("PATCH", "/users/ana", patch).errorID == "invalid_property")
            }
            // All or nothing: more users than one may have blocked are refused.
            let tooMany = JSONValue.array((0...10_000).map { .string("u\($0)") })
            let refused = try await server.call("PATCH", "/users/ana", [set("suspended", true), set("blocks", tooMany)])
            #expect(refused.errorID == "invalid_property" && refused.json["data"]["property"] == "blocks")
            #expect(try await server.call("GET", "/users/ana").json["suspended"] == false)
            #expect(try await server.call("PATCH", "/users/nobody", [set("suspended", true)]).errorID == "not_found")
            #expect(try await server.call("PATCH", "/users/nobody", []).errorID == "not_found")
        }

        @Test("sessions are listed without their tokens, and ended one by one or all: open sockets close with 4401 on all gateways")
        func sessions() async throws {
            let app = try await Cluster.shared().app()
            let users = [try await app.signIn("ana"), try await app.signIn("ana", via: 1), try await app.signIn("ana")]
            let sockets = [try await users[0].open(), try await users[1].open(), try await users[2].open(via: 1)]
            let server = AppServer(app)
            let list = try await server.call("GET", "/users/ana/sessions")
            #expect(list.header("Layer-Count") == "3")
            let sessions = try #require(list.json.array)
            for session in sessions {
                #expect(Set(session.object?.keys.map { $0 } ?? []) == ["id", "url", "created_at", "last_used_at", "expires_at"])
                for user in users { #expect(!session.text.contains(user.token)) }
            }
            let page = try await server.call("GET", "/users/ana/sessions?page_size=1&from_id=\(sessions[0]["id"].string ?? "")")
            #expect(page.json.array?.count == 1 && page.json[0]["id"] == sessions[1]["id"])
            #expect(page.header("Link")?.contains("/apps/\(server.appID)/users/ana/sessions?") == true)
            // The newest is that of the last sign-in.
            let url = try #require(sessions[0]["url"].string.flatMap { URL(string: $0)?.path(percentEncoded: true) })
            let own = String(url.dropFirst("/apps/\(server.appID)".count))
            try await succeeds(server.call("DELETE", own), 204)
            #expect(try await sockets[2].waitForClose(deadline: Waiting.deadline).code == 4401)
            #expect(try await server.call("DELETE", own).errorID == "not_found")
            #expect(try await sockets[0].ask("Counter.read").isSuccess)
            try await eventually("ended") { try await users[2].call("GET", "/conversations").errorID == "authentication_required" }
            try await succeeds(server.call("DELETE", "/users/ana/sessions"), 204)
            for socket in sockets.prefix(2) { #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 4401) }
            let refused = try await users[0].call("GET", "/conversations")
            #expect(refused.errorID == "authentication_required" && refused.json["data"]["nonce"].string != nil)
            #expect(try await server.call("GET", "/users/ana/sessions").json == [])
            try await succeeds(server.call("DELETE", "/users/ana/sessions"), 204)
        }

        @Test("an app decides how long a session lives that is not used")
        func lifetime() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            _ = try await app.signIn("ana")
            let server = AppServer(app)
            func remaining() async throws -> [Double] {
                let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
                let sessions = try await server.call("GET", "/users/ana/sessions").json.array ?? []
                return try sessions.map { try Date($0["expires_at"].string ?? "", strategy: format).timeIntervalSinceNow }
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
            #expect("\(unread.status) \(unread.errorID ?? "")" == "405 method_not_allowed" && unread.header("Allow") == "PATCH")
        }

        // MARK: Badges, announcements, notifications

        @Test("a badge is put, patched and read, with the counts of the user's conversations")
        func badges() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben"))
            let conversation = try await ana.converse(with: [ben])
            for text in ["one", "two"] { try await ana.send(text, to: conversation) }
            let server = AppServer(app)
            func expected(_ external: JSONValue) -> JSONValue {
                ["external_unread_count": external, "unread_conversation_count": 1, "unread_message_count": 2]
            }
            #expect(try await server.call("GET", "/users/ben/badge").json == expected(0))
            let put = try await server.call("PUT", "/users/ben/badge", ["external_unread_count": 15])
            #expect(put.status == 200 && put.json == expected(15))
            #expect(try await server.call("PATCH", "/users/ben/badge", [set("external_unread_count", 3)]).json == expected(3))
            #expect(try await server.call("GET", "/users/ben/badge").json == expected(3))
            for wrong in [-1, 1.5, "1"] as [JSONValue] {
                #expect(try await server.call("PUT", "/users/ben/badge", ["external_unread_count": wrong]).errorID == "invalid_property")
            }
            #expect(try await server.call("PUT", "/users/ben/badge", [:]).errorID == "missing_property")
            for setting in ["unread_conversations", "external", "disabled", "unread_messages"] {
                try await succeeds(server.call("PATCH", "", [set("badge_counts", .string(setting)), set("badge_counts_announcements", true)]), 202)
            }
            #expect(try await server.call("PATCH", "", [set("badge_counts", "all")]).errorID == "invalid_property")
        }

        @Test(
            "an announcement is answered in the form of its version, told to its recipients, and sent once under an id",
            arguments: ["1.0", "1.1", "2.0", "3.0"])
        func announcements(_ version: String) async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            let sockets = [try await ana.open(), try await ben.open()]
            var server = AppServer(app)
            server.version = version
            try await succeeds(server.call("PUT", "/users/news/identity", ["display_name": "News"]), 204)
            let isFirst = version.hasPrefix("1")
            let recipients: JSONValue = isFirst ? ["ana", "ben"] : [.string(ana.identity), .string(ben.identity)]
            var body: JSONValue = [
                "recipients": recipients, "parts": [["mime_type": "text/plain", "body": "Hello"]], "notification": ["text": "hi"],
            ]
            body[isFirst ? "sender" : "sender_id"] = isFirst ? ["name": "The Team"] : "layer:///identities/news"
            let id = UUID().uuidString.lowercased()
            let answer = try await server.call("POST", "/announcements", body, headers: ["If-None-Match": "\"\(id)\""])
            #expect(answer.status == 202)
            #expect(answer.json["id"].string == "layer:///announcements/\(id)")
            #expect(answer.json["recipients"] == recipients)
            #expect(answer.json["sender"][isFirst ? "name" : "display_name"].string == (isFirst ? "The Team" : "News"))
            #expect((answer.json["parts"][0]["id"].string != nil) == !isFirst && answer.json["parts"][0]["body"].string == "Hello")
            for socket in sockets {
                let packet = try await socket.change("create", "Announcement", "layer:///announcements/\(id)")
                #expect(packet.data["sender"]["display_name"].string == (isFirst ? "The Team" : "News"))
            }
            let again = try await server.call("POST", "/announcements", body, headers: ["If-None-Match": id.uppercased()])
            #expect(again.status == 202 && again.json == answer.json)
            #expect(try await ana.does("GET", "/announcements").json.array?.count == 1)
            body["parts"] = [["mime_type": "text/plain", "body": "Other"]]
            #expect(try await server.call("POST", "/announcements", body, headers: ["If-None-Match": id]).errorID == "id_in_use")
            let wrong = try await server.call("POST", "/announcements", body, headers: ["If-None-Match": "*"])
            #expect("\(wrong.status) \(wrong.errorID ?? "")" == "400 invalid_request_id")
        }

        @Test(
            "what is missing in an announcement is told before what is wrong; a sender, recipients and parts have to be there",
            arguments: ["1.0", "3.0"])
        func wrongAnnouncements(_ version: String) async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ana")
            var server = AppServer(app)
            server.version = version
            let isFirst = version == "1.0"
            let sender: (String, JSONValue) = isFirst ? ("sender", ["name": "Team"]) : ("sender_id", "ana")
            let parts: JSONValue = [["mime_type": "text/plain", "body": "x"]]
            func body(_ members: [String: JSONValue]) -> JSONValue {
                var all: [String: JSONValue] = [sender.0: sender.1, "recipients": ["ana"], "parts": parts]
                all.merge(members) { $1 }
                return .object(all.filter { $0.value != .null })
            }
            let content: JSONValue = ["id": .string("layer:///content/\(UUID().uuidString)"), "size": 1]
            let rows: [(JSONValue, String, String)] = [
                (["parts": "x"], "missing_property", "recipients"), (body(["recipients": .null]), "missing_property", "recipients"),
                (body([sender.0: .null]), "missing_property", sender.0), (body(["parts": .null]), "missing_property", "parts"),
                (body(["recipients": "everyone"]), "invalid_property", "recipients"), (body(["recipients": []]), "invalid_property", "recipients"),
                (body(["recipients": [1]]), "invalid_property", "recipients.0"), (body(["parts": []]), "invalid_property", "parts"),
                (
                    body(["parts": [["mime_type": "text/plain", "body": .string(String(repeating: "x", count: 2049))]]]), "invalid_property",
                    "parts.0.body"
                ),
                (body(["parts": [["mime_type": "image/png", "content": content]]]), "invalid_property", "parts.0.content"),
                isFirst
                    ? (body(["sender": ["user_id": "ana"]]), "invalid_property", "sender.user_id")
                    : (body(["sender_id": "nobody"]), "invalid_property", "sender_id"),
                isFirst
                    ? (body(["sender": [:]]), "missing_property", "sender.name")
                    : (body(["sender_id": "layer:///messages/x"]), "invalid_property", "sender_id"),
            ]
            for (body, id, property) in rows {
                let answer = try await server.call("POST", "/announcements", body)
                #expect("\(answer.status) \(answer.errorID ?? "")" == "422 \(id)", "\(body)")
                #expect(answer.json["data"]["property"].string == property, "\(body)")
            }
        }

        @Test("what the server does to users under a name is done once, whichever gateway is asked, and whatever was done since")
        func named() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let server = AppServer(app)
            /// Asks once, has something else done, and asks again by another gateway.
            func twice(
                _ method: String, _ path: String, _ body: JSONValue? = nil, between: () async throws -> Void = {}
            ) async throws -> (RESTAnswer, RESTAnswer) {
                let name = ["Strata-Mutation": UUID().uuidString]
                let first = try await server.call(method, path, body, headers: name)
                try await between()
                return (first, try await server.call(method, path, body, headers: name, via: 1))
            }

            let created = try await twice("POST", "/users/ben/identity", ["display_name": "Ben"])
            #expect(created.0.status == 201 && created.1.status == 201)
            #expect(try await server.call("POST", "/users/ben/identity", ["display_name": "Ben"]).status == 409)
            let deleted = try await twice("DELETE", "/users/ben/identity") {
                try await succeeds(server.call("PUT", "/users/ben/identity", ["display_name": "Benedict"]), 204)
            }
            #expect(deleted.0.status == 204 && deleted.1.status == 204)
            #expect(try await server.call("GET", "/users/ben/identity").json["display_name"] == "Benedict")

            let suspended = try await twice("PATCH", "/users/ben", [set("suspended", true)]) {
                try await succeeds(server.call("PATCH", "/users/ben", [set("suspended", false)]), 202)
            }
            #expect(suspended.0.status == 202 && suspended.1.status == 202)
            #expect(try await server.call("GET", "/users/ben").json["suspended"] == false)

            let blocked = try await twice("POST", "/users/ana/blocks", ["user_id": "ben"]) {
                try await succeeds(server.call("DELETE", "/users/ana/blocks/ben"), 204)
            }
            #expect(blocked.0.status == 204 && blocked.1.status == 204)
            #expect(try await server.call("GET", "/users/ana/blocks").json == [])

            let badge = try await twice("PUT", "/users/ana/badge", ["external_unread_count": 5]) {
                try await succeeds(server.call("PUT", "/users/ana/badge", ["external_unread_count": 7]), 200)
            }
            #expect(badge.0.json["external_unread_count"] == 5 && badge.1.json["external_unread_count"] == 7)

            let news: JSONValue = [
                "sender_id": "layer:///identities/ben", "recipients": ["ana"], "parts": [["mime_type": "text/plain", "body": "news"]],
            ]
            let announced = try await twice("POST", "/announcements", news)
            #expect(announced.0.status == 202 && announced.1.status == 202 && announced.0.json == announced.1.json)
            #expect(try await ana.does("GET", "/announcements").json.array?.count == 1)

            // A session that was there is ended under the name again; one that came since is not.
            let ended = try await twice("DELETE", "/users/ana/sessions") { _ = try await app.signIn("ana") }
            #expect(ended.0.status == 204 && ended.1.status == 204)
            let sessions = try await server.call("GET", "/users/ana/sessions")
            #expect(sessions.header("Layer-Count") == "1")
            let id = try #require(sessions.json[0]["id"].string?.split(separator: "/").last)
            let one = try await twice("DELETE", "/users/ana/sessions/\(id)")
            #expect(one.0.status == 204 && one.1.status == 204)
        }

        @Test("a notification needs recipients and a text or data; with no webhook that sends pushes it is refused with that reason")
        func notifications() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ana")
            let server = AppServer(app)
            let rows: [(JSONValue, String)] = [
                (["notification": ["text": "x"]], "recipients"), (["recipients": ["ana"]], "notification"),
                (["recipients": ["ana"], "notification": [:]], "notification.text"),
                (["recipients": [], "notification": ["text": "x"]], "recipients"),
                (["recipients": ["ana"], "notification": ["data": ["a": 1]]], "notification.data"),
                (["recipients": ["ana"], "notification": ["text": "x", "recipients": ["ana": "y"]]], "notification.recipients"),
            ]
            for (body, property) in rows {
                let answer = try await server.call("POST", "/notifications", body)
                #expect(answer.status == 422 && answer.json["data"]["property"].string == property, "\(body)")
            }
            let body: JSONValue = ["recipients": ["ana"], "notification": ["text": "x", "recipients": ["layer:///identities/ana": ["text": "y"]]]]
            let answer = try await server.call("POST", "/notifications", body)
            #expect("\(answer.status) \(answer.errorID ?? "")" == "422 invalid_operation")
            #expect(answer.json["message"].string?.contains("webhook") == true)
        }

        // MARK: Following

        @Test("following is listed with 500 users a page")
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

        @Test("a user is erased: sessions end, messages keep their places without parts, and all who see them are told; it can be repeated")
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
            // 2.0 knows no changes of parts: it merges a message of the same id.
            try await sockets[1].change("create", "Message", message) { $0["parts"] == [] }
            for (reader, version) in [(ben, "3.0"), (old, "2.0")] {
                try await eventually("all parts are gone, \(version)") {
                    try await reader.does("GET", conversation.path + "/messages").json.array?
                        .allSatisfy { $0["id"].string == bens || $0["parts"] == [] } == true
                }
                let messages = try #require(try await reader.does("GET", conversation.path + "/messages").json.array)
                #expect(messages.map { $0["id"].string } == [file["id"].string, bens, message])
                let senders = messages.filter { $0["id"].string != bens }.map { $0["sender"] }
                #expect(senders.allSatisfy { $0["display_name"] == .null && $0["user_id"].string == "ana" })
                #expect(try await reader.does("GET", layerPath(message) + "/parts").json == [])
            }
            #expect(try await ben.does("GET", conversation.path).json["last_message"]["parts"] == [])
            #expect(try await ana.call("GET", "/conversations").errorID == "authentication_required")
            #expect(try await ben.call("GET", layerPath(content.id)).errorID == "not_found")
            #expect(try await server.call("GET", "/users/ana/identity").errorID == "not_found")
            // A client that was away is told the same.
            let replayed = try await ben.open()
            let answer = try await replayed.ask("Event.replay", nil, ["from_timestamp": "2020-01-01T00:00:00.000Z"])
            #expect(answer.isSuccess)
            let isTold = replayed.history.contains { packet in
                packet.isChange("create", of: "Message", id: message) && packet.data["parts"] == []
            }
            #expect(isTold)
            // The user may come back, as a new one with the same id.
            let back = try await app.signIn("ana")
            #expect(try await back.does("GET", layerPath(message)).json["parts"] == [])
        }

        @Test("the command erases a user, and announces, with a token of its own that it revokes, or with one that it is given")
        func commands() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let ana = try await app.signIn("ana")
            let place = ["--app", app.id, "--url", cluster.urls[0]]
            let tokens = ServerTokenCommands(app, cluster)
            let announced = try await StrataProgram()
                .run(["announce"] + place + ["--database", cluster.databaseURL, "--from", "Ops", "--to", "ana", "News"])
            #expect(announced.status == 0 && announced.output.hasPrefix("Sent to 1 user: layer:///announcements/"), "\(announced.complaints)")
            let list = try await ana.does("GET", "/announcements").json
            #expect(list[0]["sender"]["display_name"].string == "Ops" && list[0]["parts"][0]["body"].string == "News")
            #expect(try await tokens.list().map(\.name) == ["first"])

            let unasked = try await StrataProgram().run(["user", "erase"] + place + ["--user", "ana"])
            #expect(unasked.complaints.contains("No user was erased."))
            let erased = try await StrataProgram()
                .run(["user", "erase"] + place + ["--user", "ana", "--yes"], environment: ["STRATA_SERVER_TOKEN": app.app.serverToken])
            #expect(erased.status == 0 && erased.output.contains("ana  is erased"), "\(erased.complaints)")
            try await eventually("signed out") { try await ana.call("GET", "/conversations").status == 401 }
            let wrong = try await StrataProgram()
                .run(["user", "erase"] + place + ["--user", "ana", "--yes"], environment: ["STRATA_SERVER_TOKEN": "wrong"])
            #expect(wrong.complaints.contains("Is STRATA_SERVER_TOKEN a token of this app?"))
        }

        private func succeeds(_ answer: RESTAnswer, _ status: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            #expect(answer.status == status, "\(answer.json)", sourceLocation: sourceLocation)
        }
    }
}
