// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("bad input")
    struct BadInputTests {
        struct Case: Sendable, CustomTestStringConvertible {
            let name: String
            let method: String
            /// The path. `:c` is a conversation of the user, `:s` a conversation that the user is not in.
            let path: String
            let body: String
            let status: Int
            let errorID: String
            var property: String?

            var testDescription: String { name }

            init(
                _ name: String, _ method: String, _ path: String, _ body: String, _ status: Int, _ errorID: String,
                _ property: String? = nil
            ) {
                (self.name, self.method, self.path, self.body) = (name, method, path, body)
                (self.status, self.errorID, self.property) = (status, errorID, property)
            }
        }

        /// A value that must not appear in any log. Every request body that has room for it contains it.
        static let secret = "never-in-a-log-\(UInt64.random(in: .min ... .max))"

        static let cases: [Case] = [
            Case("no JSON", "POST", "/conversations", "{\"participants\": \(secret)", 400, "invalid_request"),
            Case("an array for an object", "POST", "/conversations", "[\"\(secret)\"]", 400, "invalid_request"),
            Case(
                "no participants", "POST", "/conversations", #"{"metadata": {}}"#, 422, "missing_property",
                "participants"),
            Case(
                "a participant that is none", "POST", "/conversations", #"{"participants": [7]}"#, 422,
                "invalid_property", "participants.0"),
            Case(
                "a key with a space", "POST", "/conversations",
                #"{"participants": [], "metadata": {"a": {"b c": "\#(secret)"}}}"#, 422,
                "invalid_property", "metadata.a.b c"),
            Case(
                "a number", "POST", "/conversations", #"{"participants": [], "metadata": {"a": {"b": 1}}}"#, 422,
                "invalid_property", "metadata.a.b"),
            Case(
                "an array", "POST", "/conversations", #"{"participants": [], "metadata": {"a": []}}"#, 422,
                "invalid_property", "metadata.a"),
            Case(
                "a value of 2,049 bytes", "POST", "/conversations",
                #"{"participants": [], "metadata": {"a": "\#(String(repeating: "x", count: 2049))"}}"#, 422,
                "invalid_property", "metadata.a"),
            Case(
                "an id that is none", "POST", "/conversations", #"{"participants": [], "id": "\#(secret)"}"#, 422,
                "invalid_property", "id"),
            Case("no list of operations", "PATCH", ":c", #"{"operation": "set"}"#, 400, "invalid_request"),
            Case(
                "an unknown operation", "PATCH", ":c",
                #"[{"operation": "put", "property": "metadata.a", "value": "\#(secret)"}]"#, 400,
                "invalid_request"),
            Case(
                "a property that cannot be patched", "PATCH", ":c",
                #"[{"operation": "set", "property": "distinct", "value": true}]"#, 422,
                "invalid_property", "distinct"),
            Case(
                "a patched key with a space", "PATCH", ":c",
                #"[{"operation": "set", "property": "metadata.a b", "value": "\#(secret)"}]"#, 422,
                "invalid_property", "metadata.a b"),
            Case(
                "a patched value of 2,049 bytes", "PATCH", ":c",
                #"[{"operation": "set", "property": "metadata.a", "value": "\#(String(repeating: "ü", count: 1024))x"}]"#,
                422,
                "invalid_property", "metadata.a"),
            Case(
                "a good and a bad operation", "PATCH", ":c",
                #"[{"operation": "set", "property": "metadata.good", "value": "1"}, {"operation": "set", "property": "metadata.bad", "value": 1}]"#,
                422, "invalid_property", "metadata.bad"),
            Case("a conversation the caller is not in", "GET", ":s", "", 404, "not_found"),
            Case(
                "a patch by a non-participant", "PATCH", ":s",
                #"[{"operation": "set", "property": "metadata.a", "value": "1"}]"#, 404, "not_found"),
            Case(
                "a message by a non-participant", "POST", ":s/messages",
                #"{"parts": [{"mime_type": "text/plain", "body": "\#(secret)"}]}"#, 404,
                "not_found"),
            Case("a message without parts", "POST", ":c/messages", "{}", 422, "missing_property", "parts"),
            Case("a message of no parts", "POST", ":c/messages", #"{"parts": []}"#, 422, "invalid_property", "parts"),
            Case(
                "a part without a type", "POST", ":c/messages", #"{"parts": [{"body": "\#(secret)"}]}"#, 422,
                "missing_property", "parts.0.mime_type"),
            Case(
                "a body that is too long", "POST", ":c/messages",
                #"{"parts": [{"mime_type": "text/plain", "body": "\#(secret)\#(String(repeating: "y", count: 2049))"}]}"#,
                422, "invalid_property",
                "parts.0.body"),
            Case(
                "an unknown receipt", "POST", "/messages/8a1c2d00-0000-4000-8000-000000000001/receipts",
                #"{"type": "seen"}"#, 422,
                "invalid_property", "type"),
            Case(
                "a message that is none", "GET", "/messages/8a1c2d00-0000-4000-8000-000000000001", "", 404, "not_found"),
            Case("an id in the path that is none", "GET", "/conversations/\(secret)", "", 404, "not_found"),
            Case("no such path", "GET", "/nothing/here", "", 404, "invalid_endpoint"),
            Case(
                "a cursor that is none", "GET",
                "/conversations?from_id=layer:///conversations/8a1c2d00-0000-4000-8000-000000000001", "", 422,
                "invalid_property", "from_id"),
            Case(
                "a sort order that is none", "GET", "/conversations?sort_by=colour", "", 422, "invalid_property",
                "sort_by"),
        ]

        private struct Scene {
            let ana: TestUser
            let socket: ProtocolSocket
            let own: Conversation
            let strange: Conversation

            init() async throws {
                let users = try await Cluster.shared().app().signIn(["ana", "ben", "cleo"])
                ana = users[0]
                own = try await ana.converse(with: [users[1]])
                strange = try await users[1].converse(with: [users[2]])
                socket = try await ana.open()
            }
        }

        @Test("each bad REST request gets an error object that names the property, and changes nothing")
        func rest() async throws {
            let scene = try await Scene()
            let before = try await scene.ana.view(of: scene.own)
            for bad in Self.cases {
                let path = bad.path.replacingOccurrences(of: ":c", with: scene.own.path)
                    .replacingOccurrences(of: ":s", with: scene.strange.path)
                let answer = try await scene.ana.client.call(
                    bad.method, path, data: bad.body.isEmpty ? nil : Data(bad.body.utf8), token: scene.ana.token,
                    deadline: Waiting.deadline)
                #expect(answer.status == bad.status, "\(bad.name): \(answer.json)")
                #expect(answer.errorID == bad.errorID, "\(bad.name)")
                if let property = bad.property {
                    #expect(answer.json["data"]["property"].string == property, "\(bad.name)")
                }
                #expect(answer.header("Content-Type")?.hasPrefix("application/json") == true, "\(bad.name)")
                #expect(!answer.json.text.contains(Self.secret), "\(bad.name): \(answer.json)")
            }
            #expect(try await scene.ana.view(of: scene.own) == before)
            #expect(try await scene.socket.ask("Counter.read").isSuccess)
            #expect(scene.socket.faults == [])
        }

        @Test("a body over the limit is refused and affects no other user")
        func largeBody() async throws {
            let scene = try await Scene()
            let body = Data(
                (#"{"participants": [], "metadata": {"a": ""# + String(repeating: "x", count: 2 << 20) + #""}}"#).utf8)
            do {
                let answer = try await scene.ana.client.call(
                    "POST", "/conversations", data: body, token: scene.ana.token, deadline: Waiting.deadline)
                #expect(answer.status == 413)
                #expect(answer.json["id"].string == "invalid_request")
            } catch let error as ProtocolClientError {
                // A client that gets the answer while it still sends may miss it.
                #expect(error.code == .transport)
            }
            #expect(try await scene.socket.ask("Counter.read").isSuccess)
        }

        @Test("each bad socket request gets an error object, and the socket stays open")
        func socket() async throws {
            let scene = try await Scene()
            let text = Self.secret + String(repeating: "y", count: 2049)
            let cases: [(String, String?, JSONValue?, String, String?)] = [
                ("Message.destroy", nil, nil, "invalid_operation", nil),
                ("Conversation.create", nil, nil, "missing_property", "participants"),
                ("Conversation.create", nil, [:], "missing_property", "participants"),
                (
                    "Conversation.create", nil, ["participants": [], "metadata": ["a b": "x"]], "invalid_property",
                    "metadata.a b"
                ),
                (
                    "Conversation.create", nil,
                    ["participants": [], "metadata": ["a": .string(String(repeating: "x", count: 2049))]],
                    "invalid_property", "metadata.a"
                ),
                ("Message.create", nil, TestUser.message("x"), "missing_property", "object_id"),
                ("Message.create", "layer:///conversations/7", TestUser.message("x"), "invalid_property", "object_id"),
                ("Message.create", scene.strange.id, TestUser.message(Self.secret), "not_found", nil),
                ("Message.create", scene.own.id, ["parts": []], "invalid_property", "parts"),
                ("Message.create", scene.own.id, TestUser.message(text), "invalid_property", "parts.0.body"),
                ("Event.replay", nil, [:], "missing_property", "from_timestamp"),
                ("Presence.sync", nil, [:], "missing_property", "ids"),
                ("Presence.update", nil, [:], "invalid_request", nil),
            ]
            for (method, object, data, errorID, property) in cases {
                let answer = try await scene.socket.ask(method, object, data)
                #expect(answer.errorID == errorID, "\(method): \(answer.data)")
                #expect(answer.data["data"]["property"].string == property, "\(method): \(answer.data)")
                #expect(!answer.data.text.contains(Self.secret))
            }
            #expect(scene.socket.faults == [])
        }

        @Test(
            "an invalid packet closes its own connection and no other",
            arguments: ["no JSON", "unknown type", "binary", "huge frame"])
        func broken(_ kind: String) async throws {
            let scene = try await Scene()
            let other = try await scene.ana.open(via: scene.ana.gateway)
            let code: UInt16
            switch kind {
            case "no JSON":
                try await scene.socket.sendText(Self.secret)
                code = 1003
            case "unknown type":
                try await scene.socket.sendPacket(["type": "wish", "body": ["text": .string(Self.secret)]])
                code = 1003
            case "binary":
                try await scene.socket.sendBinary([1, 2, 3])
                code = 1003
            default:
                // The server may close while the frame is still being sent.
                try? await scene.socket.sendText(String(repeating: "x", count: (1 << 20) + 1))
                code = 1009
            }
            let closure = try await scene.socket.waitForClose(deadline: Waiting.deadline)
            #expect(closure.code == code)
            #expect(try await other.ask("Counter.read").isSuccess)
        }
    }
}
