// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataCommand
import TestCluster
import TestSupport
import Testing

extension EndToEnd {
    /// Badges, announcements and notifications that an app's own server sends to users, each exactly once.
    @Suite("notices of an app's own server")
    struct NoticeTests {
        @Test("a badge is set, patched and read, with the counts of the user's conversations")
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
            #expect(put.status == 204 && put.body.isEmpty)
            #expect(try await server.call("GET", "/users/ben/badge").json == expected(15))
            #expect(
                try await server.call("PATCH", "/users/ben/badge", [set("external_unread_count", 3)]).json
                    == expected(3))
            #expect(try await server.call("GET", "/users/ben/badge").json == expected(3))
            for wrong in [-1, 1.5, "1"] as [JSONValue] {
                #expect(
                    try await server.call("PUT", "/users/ben/badge", ["external_unread_count": wrong]).errorID
                        == "invalid_property")
            }
            #expect(try await server.call("PUT", "/users/ben/badge", [:]).errorID == "missing_property")
            for setting in ["unread_conversations", "external", "disabled", "unread_messages"] {
                try await succeeds(
                    server.call(
                        "PATCH", "", [set("badge_counts", .string(setting)), set("badge_counts_announcements", true)]),
                    202)
            }
            #expect(try await server.call("PATCH", "", [set("badge_counts", "all")]).errorID == "invalid_property")
        }

        @Test(
            "an announcement is answered in its version's form, sent to its recipients, and sent once per id",
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
                "recipients": recipients, "parts": [["mime_type": "text/plain", "body": "Hello"]],
                "notification": ["text": "hi"],
            ]
            body[isFirst ? "sender" : "sender_id"] = isFirst ? ["name": "The Team"] : "layer:///identities/news"
            let id = UUID().uuidString.lowercased()
            let answer = try await server.call("POST", "/announcements", body, headers: ["If-None-Match": "\"\(id)\""])
            #expect(answer.status == 202)
            #expect(answer.json["id"].string == "layer:///announcements/\(id)")
            #expect(answer.json["recipients"] == recipients)
            #expect(answer.json["sender"][isFirst ? "name" : "display_name"].string == (isFirst ? "The Team" : "News"))
            #expect(
                (answer.json["parts"][0]["id"].string != nil) == !isFirst
                    && answer.json["parts"][0]["body"].string == "Hello")
            for socket in sockets {
                let packet = try await socket.change("create", "Announcement", "layer:///announcements/\(id)")
                #expect(packet.data["sender"]["display_name"].string == (isFirst ? "The Team" : "News"))
            }
            let again = try await server.call(
                "POST", "/announcements", body, headers: ["If-None-Match": id.uppercased()])
            #expect(again.status == 202 && again.json == answer.json)
            #expect(try await ana.does("GET", "/announcements").json.array?.count == 1)
            body["parts"] = [["mime_type": "text/plain", "body": "Other"]]
            #expect(
                try await server.call("POST", "/announcements", body, headers: ["If-None-Match": id]).errorID
                    == "id_in_use")
            let wrong = try await server.call("POST", "/announcements", body, headers: ["If-None-Match": "*"])
            #expect("\(wrong.status) \(wrong.errorID ?? "")" == "400 invalid_request_id")
        }

        @Test(
            "an announcement's missing properties are reported before invalid ones; sender, recipients and parts are required",
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
                (["parts": "x"], "missing_property", "recipients"),
                (body(["recipients": .null]), "missing_property", "recipients"),
                (body([sender.0: .null]), "missing_property", sender.0),
                (body(["parts": .null]), "missing_property", "parts"),
                (body(["recipients": "everyone"]), "invalid_property", "recipients"),
                (body(["recipients": []]), "invalid_property", "recipients"),
                (body(["recipients": [1]]), "invalid_property", "recipients.0"),
                (body(["parts": []]), "invalid_property", "parts"),
                (
                    body(["parts": [["mime_type": "text/plain", "body": .string(String(repeating: "x", count: 2049))]]]
                    ), "invalid_property",
                    "parts.0.body"
                ),
                (
                    body(["parts": [["mime_type": "image/png", "content": content]]]), "invalid_property",
                    "parts.0.content"
                ),
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

        @Test("a server request with an idempotency key runs once, through any gateway, whatever changed since")
        func named() async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let server = AppServer(app)
            /// Sends a request, runs `between`, and repeats the request under the same name through another gateway.
            func twice(
                _ method: String, _ path: String, _ body: JSONValue? = nil, between: () async throws -> Void = {}
            ) async throws -> (RESTResponse, RESTResponse) {
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
                try await succeeds(server.call("PUT", "/users/ana/badge", ["external_unread_count": 7]), 204)
            }
            #expect(badge.0.status == 204 && badge.1.status == 204)
            #expect(try await server.call("GET", "/users/ana/badge").json["external_unread_count"] == 7)

            let news: JSONValue = [
                "sender_id": "layer:///identities/ben", "recipients": ["ana"],
                "parts": [["mime_type": "text/plain", "body": "news"]],
            ]
            let announced = try await twice("POST", "/announcements", news)
            #expect(announced.0.status == 202 && announced.1.status == 202 && announced.0.json == announced.1.json)
            #expect(try await ana.does("GET", "/announcements").json.array?.count == 1)

            // The repetition ends only sessions from before the first request, so the new session is kept.
            let ended = try await twice("DELETE", "/users/ana/sessions") { _ = try await app.signIn("ana") }
            #expect(ended.0.status == 204 && ended.1.status == 204)
            let sessions = try await server.call("GET", "/users/ana/sessions")
            #expect(sessions.header("Layer-Count") == "1")
            let id = try #require(sessions.json[0]["id"].string?.split(separator: "/").last)
            let one = try await twice("DELETE", "/users/ana/sessions/\(id)")
            #expect(one.0.status == 204 && one.1.status == 204)
        }

        @Test(
            "a notification requires recipients and a text or data; without a webhook for pushes it is refused with that reason"
        )
        func notifications() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ana")
            let server = AppServer(app)
            let rows: [(JSONValue, String)] = [
                (["notification": ["text": "x"]], "recipients"), (["recipients": ["ana"]], "notification"),
                (["recipients": ["ana"], "notification": [:]], "notification.text"),
                (["recipients": [], "notification": ["text": "x"]], "recipients"),
                (["recipients": ["ana"], "notification": ["data": ["a": 1]]], "notification.data"),
                (
                    ["recipients": ["ana"], "notification": ["text": "x", "recipients": ["ana": "y"]]],
                    "notification.recipients"
                ),
            ]
            for (body, property) in rows {
                let answer = try await server.call("POST", "/notifications", body)
                #expect(answer.status == 422 && answer.json["data"]["property"].string == property, "\(body)")
            }
            let body: JSONValue = [
                "recipients": ["ana"],
                "notification": ["text": "x", "recipients": ["layer:///identities/ana": ["text": "y"]]],
            ]
            let answer = try await server.call("POST", "/notifications", body)
            #expect("\(answer.status) \(answer.errorID ?? "")" == "422 invalid_operation")
            #expect(answer.json["message"].string?.contains("webhook") == true)
        }
    }
}
