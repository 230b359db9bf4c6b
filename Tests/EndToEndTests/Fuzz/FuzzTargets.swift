// SPDX-License-Identifier: Apache-2.0

import FuzzValues
import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport
import Testing

/// A user with a session and own objects, so that nearly valid requests reach deep into the services.
struct FuzzTargets: Sendable {
    let user: TestUser
    let other: TestUser
    let conversation: String
    let message: String
    /// The token of a session that may be ended.
    let spareToken: String

    static func make(in app: TestApp, name: String, gateway: Int, version: ProtocolVersion) async throws -> FuzzTargets
    {
        let user = try await app.signIn("\(name).a", via: gateway, version: version)
        let other = try await app.signIn("\(name).b", via: gateway, version: version)
        let spare = try await app.signIn("\(name).a", via: gateway, version: version)
        let conversation = try await user.converse(
            with: [other], metadata: ["title": "fuzz", "a": ["b": "1"]], distinct: false)
        let message = try await other.send("hello", to: conversation)
        return FuzzTargets(
            user: user, other: other, conversation: conversation.id, message: message, spareToken: spare.token)
    }

    /// A request that was valid when this was written.
    struct Request: Sendable {
        var method: String
        var path: String
        var headers: [String: String] = [:]
        var body: JSONValue?
    }

    /// Returns a request for every endpoint of the index.
    func requests(_ values: inout FuzzValues) -> [Request] {
        let (conversation, message, other) = (layerPath(conversation), layerPath(message), other.user)
        let part: JSONValue = ["mime_type": "text/plain", "body": "hi"]
        let token: JSONValue = [
            "token": "00ff", "type": "apns", "device_id": "d1", "apns_bundle_id": "org.example", "ios_version": "9.0",
        ]
        let new = values.generator.uuid()
        return [
            Request(method: "GET", path: "/"), Request(method: "HEAD", path: "/ping?client=3.4.6"),
            Request(method: "POST", path: "/nonces"),
            Request(
                method: "POST", path: "/sessions", body: ["identity_token": "a.b.c", "app_id": .string(user.app.id)]),
            Request(method: "DELETE", path: "/sessions/\(spareToken)"),
            Request(method: "POST", path: "/push_tokens", body: token),
            Request(method: "DELETE", path: "/push_tokens/d1"),
            Request(method: "GET", path: "/identities?page_size=10"),
            Request(method: "GET", path: "/identities/\(other)"),
            Request(method: "GET", path: "/identities?ids=\(other),layer:///identities/\(other)"),
            Request(method: "GET", path: "/following"), Request(method: "GET", path: "/following/users/\(other)"),
            Request(method: "PUT", path: "/following/users/\(other)"),
            Request(method: "DELETE", path: "/following/users/\(other)"),
            Request(method: "POST", path: "/following/users", body: [.string(other), "layer:///identities/x"]),
            Request(method: "GET", path: "/conversations?page_size=20&sort_by=last_message"),
            Request(method: "GET", path: "/conversations?messages=unread&page_size=20"),
            Request(method: "GET", path: "/conversations?from_id=layer:///conversations/\(new)"),
            Request(method: "GET", path: conversation),
            Request(
                method: "POST", path: "/conversations",
                body: [
                    "participants": [.string(self.other.identity)], "distinct": false, "metadata": ["a": ["b": "c"]],
                    "id": .string(new),
                ]),
            Request(
                method: "PATCH", path: conversation,
                body: [
                    set("metadata.a.b", "2"), delete("metadata.title"), add(self.other),
                    set("metadata", ["title": "x"]),
                ]),
            Request(method: "DELETE", path: "\(conversation)?mode=my_devices"),
            Request(method: "DELETE", path: "/conversations/\(new)?mode=all_participants&leave=true"),
            Request(method: "POST", path: "\(conversation)/mark_all_read", body: ["position": 8192]),
            Request(method: "GET", path: "\(conversation)/messages?page_size=20&from_id=\(self.message)"),
            Request(
                method: "POST", path: "\(conversation)/messages",
                body: [
                    "parts": [part, ["mime_type": "image/gif", "body": "R0lG", "encoding": "base64"]],
                    "id": .string(new),
                    "notification": ["text": "t"],
                ]),
            Request(method: "GET", path: message), Request(method: "DELETE", path: "/messages/\(new)?mode=my_devices"),
            Request(method: "POST", path: "\(message)/receipts", body: ["type": "read"]),
            Request(method: "GET", path: "\(message)/parts"),
            Request(method: "POST", path: "\(message)/parts", body: part),
            Request(method: "PUT", path: "\(message)/parts", body: [part]),
            Request(method: "GET", path: "\(message)/parts/0"),
            Request(method: "PUT", path: "\(message)/parts/0", body: part),
            Request(method: "DELETE", path: "\(message)/parts/0"),
            Request(
                method: "POST", path: "/content",
                headers: ["Upload-Content-Type": "image/png", "Upload-Content-Length": "100"]),
            Request(method: "GET", path: "/content/\(new)"),
            Request(method: "PUT", path: "/content/uploads/\(new)", body: "bytes"),
            Request(method: "POST", path: "/content/uploads/\(new)", body: "bytes"),
            Request(method: "GET", path: "/content/downloads/\(new)", headers: ["Range": "bytes=0-10"]),
            Request(method: "GET", path: "/announcements"), Request(method: "GET", path: "/announcements/\(new)"),
            Request(method: "POST", path: "/announcements/\(new)/receipts", body: ["type": "delivery"]),
            Request(method: "DELETE", path: "/announcements/\(new)"), Request(method: "GET", path: "/channels"),
            Request(method: "GET", path: "/docs/"), Request(method: "GET", path: "/docs/openapi.yaml"),
            Request(method: "OPTIONS", path: conversation),
        ]
    }

    /// Returns every packet that a client may send.
    func packets(_ values: inout FuzzValues) -> [JSONValue] {
        let new = values.generator.uuid()
        func request(_ method: String, _ data: JSONValue? = nil, _ object: String? = nil) -> JSONValue {
            var body: JSONValue = ["request_id": "f\(values.generator.int(0...999))", "method": .string(method)]
            if let data { body["data"] = data }
            if let object { body["object_id"] = .string(object) }
            return ["type": "request", "body": body]
        }
        let part: JSONValue = [
            "id": .string("layer:///messages/\(new)/parts/\(values.generator.uuid())"), "mime_type": "text/plain",
            "body": "hi",
        ]
        return [
            request("Counter.read"), request("Event.replay", ["from_timestamp": "2030-01-01T00:00:00.000Z"]),
            request("Event.replay", ["from_timestamp": "2018-05-04T09:30:00.125Z"]),
            request(
                "Conversation.create",
                [
                    "participants": [.string(other.identity)], "distinct": true, "metadata": ["k": "v"],
                    "id": .string(new),
                ]),
            request(
                "Message.create",
                ["parts": [part], "id": .string("layer:///messages/\(new)"), "notification": ["text": "x"]],
                conversation),
            request("Presence.subscribe"), request("Presence.unsubscribe"),
            request("Presence.update", [["operation": "set", "property": "status", "value": "away"]]),
            request("Presence.sync", ["ids": [.string(other.identity)]]),
            request("Presence.sync", ["since": "2018-05-04T09:30:00.125Z"]),
            request("Channel.create", ["name": "x", "members": []]),
            [
                "type": "signal",
                "body": [
                    "type": "typing_indicator", "object": ["id": .string(conversation)], "data": ["action": "started"],
                    "request_id": "s1",
                ],
            ],
        ]
    }
}
