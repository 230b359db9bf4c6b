// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("messages with rich content")
    struct ContentMessageTests {
        private static let bytes = Data("the bytes of a picture".utf8)

        /// Expects a complete Content object, as every user is shown it.
        private func check(
            _ object: JSONValue, is content: AnnouncedContent, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            #expect(object["id"].string == content.id, sourceLocation: sourceLocation)
            #expect(object["size"].int == Self.bytes.count, sourceLocation: sourceLocation)
            #expect(object["expiration"].string != nil, sourceLocation: sourceLocation)
            #expect(object["refresh_url"].string == "https://chat.test\(content.path)", sourceLocation: sourceLocation)
            let url = try #require(object["download_url"].string, sourceLocation: sourceLocation)
            #expect(try await Cluster.shared().fetch(url, via: 1).body == Self.bytes, sourceLocation: sourceLocation)
        }

        @Test(
            "sender and recipients receive the content, over REST and sockets, in both versions",
            arguments: ProtocolVersion.allCases)
        func sending(_ version: ProtocolVersion) async throws {
            let app = try await Cluster.shared().app()
            let ana = try await app.signIn("ana", version: version)
            let bens = [
                try await app.signIn("ben", via: 0, version: .v2), try await app.signIn("ben", via: 1, version: .v3),
            ]
            let sockets = [try await bens[0].open(), try await bens[1].open()]
            let conversation = try await ana.converse(with: [bens[0]])
            let content = try await ana.upload(Self.bytes)
            let sent = try await ana.does("POST", conversation.path + "/messages", content.message).json
            let id = try #require(sent["id"].string)
            try await check(sent["parts"][1]["content"], is: content)
            #expect(sent["parts"][1]["size"].int == Self.bytes.count)
            for socket in sockets {
                try await check(
                    try await socket.change("create", "Message", id).data["parts"][1]["content"], is: content)
            }
            for ben in bens {
                try await check(try await ben.does("GET", layerPath(id))["parts"][1]["content"], is: content)
            }
            let anas = try await ana.open()
            let answer = try await anas.ask("Message.create", conversation.id, content.message)
            #expect(answer.isSuccess)
            try await check(answer.data["parts"][1]["content"], is: content)
        }

        @Test("only the uploader and users who see a message with the content can read it")
        func access() async throws {
            let app = try await Cluster.shared().app()
            let users = try await app.signIn(["ana", "ben", "cleo"])
            let conversation = try await users[0].converse(with: [users[1]])
            let content = try await users[0].upload(Self.bytes)
            for user in users.dropFirst() { #expect(try await user.call("GET", content.path).errorID == "not_found") }
            let message = try #require(
                try await users[0].does("POST", conversation.path + "/messages", content.message)["id"].string)
            try await check(try await users[0].does("GET", content.path).json, is: content)
            try await check(try await users[1].does("GET", content.path).json, is: content)
            let refused = try await users[2].call("GET", content.path)
            #expect(refused.status == 404)
            #expect(refused.errorID == "not_found")
            #expect(try await Cluster.shared().app().signIn("ben").call("GET", content.path).errorID == "not_found")
            try await users[0].does("DELETE", layerPath(message) + "?mode=all_participants")
            #expect(try await users[1].call("GET", content.path).errorID == "not_found")
            #expect(try await users[0].call("GET", content.path).isSuccess)
            #expect(try await users[0].call("GET", "/content/nonsense").errorID == "not_found")
        }

        @Test("a user can send only existing content that they may see")
        func unsendable() async throws {
            let app = try await Cluster.shared().app()
            let users = try await app.signIn(["ana", "ben"])
            let conversation = try await users[0].converse(with: [users[1]])
            let unfinished = try await users[0].announce(Self.bytes.count)
            let strange = try await users[1].upload(Self.bytes)
            for content in [unfinished, strange] {
                let answer = try await users[0].call("POST", conversation.path + "/messages", content.message)
                #expect(answer.status == 422)
                #expect(answer.errorID == "invalid_property")
            }
        }

        @Test("unreferenced content is removed after a delay, referenced content stays")
        func swept() async throws {
            try await Cluster.with(Cluster.Size(gateways: 2, settings: ["STRATA_CONTENT_UNREFERENCED_AGE": "5s"])) {
                cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let kept = try await users[0].upload(Self.bytes)
                let message = try #require(
                    try await users[0].does("POST", conversation.path + "/messages", kept.message)["id"].string)
                let (lost, late) = (
                    try await users[0].upload(Self.bytes), try await users[0].announce(Self.bytes.count)
                )
                try await eventually("unreferenced content is removed") {
                    let answers = [
                        try await users[0].call("GET", lost.path), try await users[0].call("GET", late.path),
                    ]
                    return answers.allSatisfy { $0.errorID == "not_found" } && cluster.files(of: lost) == []
                }
                // The upload token is still valid, but the upload is no longer expected.
                #expect(try await cluster.put(Self.bytes, to: late.uploadURL).errorID == "not_found")
                #expect(cluster.files(of: late) == [])
                #expect(cluster.files(of: kept).count == 1)
                #expect(try await cluster.fetch(try await users[1].downloadURL(of: kept)).body == Self.bytes)
                try await users[0].does("DELETE", layerPath(message) + "?mode=all_participants")
                try await eventually("content of a deleted message is removed") { cluster.files(of: kept) == [] }
                #expect(try await users[0].call("GET", kept.path).errorID == "not_found")
            }
        }

        @Test("a server without content storage refuses content and names the reason")
        func notKept() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_CONTENT_DIRECTORY": ""])) { cluster in
                let ana = try await cluster.app().signIn("ana")
                let answer = try await ana.call(
                    "POST", "/content", headers: ["Upload-Content-Length": "5", "Upload-Content-Type": "a/b"])
                #expect(answer.status == 503)
                #expect(answer.errorID == "service_unavailable")
                let log = await cluster.instances(of: .gateway)[0].output
                #expect(log.contains("STRATA_CONTENT_DIRECTORY"))
            }
        }
    }
}
