// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    @Suite("an app's own server on behalf of a user")
    struct OnBehalfTests {
        @Test(
            "a conversation, message or receipt created on behalf of a user is the user's, and reaches others at once")
        func told() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            let (anas, bens) = (try await ana.open(), try await ben.open())
            let server = AppServer(app)
            let created = try await server.does(
                "POST", as: "ana", "/conversations", ["participants": [.string(ben.identity)], "distinct": false])
            let id = try #require(created.json["id"].string)
            let message = try await server.does(
                "POST", as: "ana", layerPath(id) + "/messages", TestUser.message("from the server"))
            for socket in [anas, bens] {
                let packet = try await socket.message("from the server")
                #expect(packet.data["sender"]["user_id"].string == "ana")
            }
            let messageID = try #require(message.json["id"].string)
            try await server.does("POST", as: "ben", layerPath(messageID) + "/receipts", ["type": "read"])
            let seen = try await ana.does("GET", layerPath(messageID)).json
            #expect(seen["recipient_status"][ben.identity].string == "read")
        }

        @Test("every object URL in an answer works for the server; URLs of descriptions stay unchanged")
        func urls() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let user = "team/ana"
            let ana = try await app.signIn(user)
            let server = AppServer(app)
            var ids: [String] = []
            for number in 0..<3 {
                let conversation = try await ana.does(
                    "POST", "/conversations", ["participants": ["layer:///identities/ben"], "distinct": false])
                ids.append(try #require(conversation.json["id"].string))
                try await ana.does("POST", layerPath(ids[number]) + "/messages", TestUser.message("\(number)"))
            }
            let base = "/apps/\(server.appID)/users/team%2Fana"
            let page = try await server.does("GET", as: user, "/conversations?page_size=2")
            let conversations = try #require(page.json.array)
            #expect(conversations.count == 2)
            #expect(page.header("Layer-Count") == "3")
            #expect(page.header("Link")?.contains(base + "/conversations?page_size=2&from_id=") == true)
            for conversation in conversations {
                let last = conversation["last_message"]
                for url in [
                    conversation["url"], conversation["messages_url"], last["url"], last["receipts_url"],
                    last["conversation"]["url"],
                ] {
                    let path = try #require(url.string.flatMap { URL(string: $0)?.path(percentEncoded: true) })
                    #expect(path.hasPrefix(base + "/"), "\(path)")
                    guard path.hasSuffix("receipts") == false else { continue }
                    #expect(
                        try await server.call("GET", String(path.dropFirst("/apps/\(server.appID)".count))).status
                            == 200, "\(path)")
                }
                let identity = try #require(
                    conversation["participants"][0]["url"].string
                        .flatMap { URL(string: $0)?.path(percentEncoded: true) })
                #expect(
                    try await server.call("GET", String(identity.dropFirst("/apps/\(server.appID)".count))).status
                        == 200)
            }
            let refusal = try await server.call("GET", "/users/team%2Fana/conversations/\(UUID().uuidString)")
            #expect(refusal.errorID == "not_found")
            #expect(refusal.json["url"].string?.contains("/apps/") == false)
        }

        @Test("a user id that looks like another user's identity URL is a different user")
        func lookalike() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ben")
            #expect(try await AppServer(app).call("GET", "/users/ben/conversations").status == 200)
            let answer = try await AppServer(app).call("GET", "/users/layer%3A%2F%2F%2Fidentities%2Fben/conversations")
            #expect("\(answer.status) \(answer.errorID ?? "")" == "404 not_found")
        }

        @Test("a user and the server on their behalf see the same objects, and only the user's own")
        func same() async throws {
            let cluster = try await Cluster.shared()
            let app = try await cluster.app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben"))
            _ = try await app.signIn("cleo")
            let conversation = try await ana.converse(with: [ben], metadata: ["topic": "lunch"], distinct: false)
            try await ana.send("hello", to: conversation)
            let server = AppServer(app)
            let own = try await ben.does("GET", conversation.path).json
            let served = try await server.does("GET", as: "ben", conversation.path).json
            for member in ["id", "metadata", "unread_message_count", "distinct", "created_at"] {
                #expect(own[member] == served[member], "\(member)")
            }
            #expect(own["last_message"]["id"] == served["last_message"]["id"])
            #expect(try await server.call("GET", "/users/cleo" + conversation.path).errorID == "not_found")
        }

        @Test("a conditional header and the body of a GET are ignored")
        func ignored() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ana")
            let server = AppServer(app)
            let answer = try await server.call(
                "GET", "/users/ana/conversations", [:], headers: ["If-None-Match": UUID().uuidString])
            #expect(answer.status == 200)
        }

        @Test(
            "a patch accepts each content type that servers send and refuses others; POST may replace PATCH",
            arguments: [
                "application/vnd.layer-patch+json", "application/vnd.layer-patch.json",
                "application/json ;charset=utf-8", "text/plain",
            ])
        func patchTypes(_ type: String) async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana")
            let conversation = try await ana.converse(with: [], distinct: false)
            let server = AppServer(app)
            let patch: JSONValue = [["operation": "set", "property": "metadata.topic", "value": "lunch"]]
            let answer = try await server.call(
                "PATCH", "/users/ana" + conversation.path, patch, headers: ["Content-Type": type])
            if type == "text/plain" {
                #expect("\(answer.status) \(answer.errorID ?? "")" == "406 invalid_header")
                return #expect(answer.json["data"]["header"].string == "Content-Type")
            }
            #expect(answer.status == 204)
            #expect(try await ana.view(of: conversation)["metadata"] == ["topic": "lunch"])
            let again: JSONValue = [["operation": "delete", "property": "metadata.topic"]]
            let other = try await server.call(
                "POST", "/users/ana" + conversation.path, again,
                headers: ["Content-Type": type, "X-HTTP-Method-Override": "PATCH"])
            #expect(other.status == 204)
            #expect(try await ana.view(of: conversation)["metadata"] == [:])
        }

        @Test("a user of any id can be followed and unfollowed")
        func following() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn(["ana", "ben"])
            let server = AppServer(app)
            try await server.does("PUT", as: "ana", "/following/ben")
            #expect(try await server.call("GET", "/users/ana/following/ben").status == 204)
            #expect(try await server.does("GET", as: "ana", "/following").json == ["layer:///identities/ben"])
            #expect(try await server.does("GET", as: "ana", "/identities").json[0]["user_id"].string == "ben")
            try await server.does("DELETE", as: "ana", "/following/ben")
            #expect(try await server.call("GET", "/users/ana/following/ben").status == 404)
            #expect(
                try await server.call("POST", "/users/ana/following", ["cleo", "layer:///identities/dora"]).status
                    == 202)
            #expect(try await server.call("GET", "/users/ana/following/cleo").status == 204)
            // Ids in bodies are not percent-encoded.
            #expect(try await server.call("POST", "/users/ana/following", ["a%2Fb"]).status == 202)
            #expect(try await server.call("GET", "/users/ana/following/a%252Fb").status == 204)
            #expect(try await server.call("GET", "/users/ana/following/a%2Fb").status == 404)
        }
    }
}
