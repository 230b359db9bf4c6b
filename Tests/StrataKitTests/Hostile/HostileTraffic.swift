// SPDX-License-Identifier: Apache-2.0
import Foundation
import FuzzValues
import SeededRandom
import StrataModel

@testable import ProtocolClient
@testable import StrataKit

/// Packets and answers of a server that violates the protocol. Everything is derived from the seed.
///
/// Ids are drawn from small sets, and one UUID may identify objects of several types, so that packets refer to objects
/// of earlier packets.
struct HostileTraffic {
    var values: FuzzValues

    init(seed: UInt64) { values = FuzzValues(seed: seed) }

    private mutating func chance(_ percent: Int) -> Bool { values.generator.chance(percent) }
    private mutating func pick<Element>(_ elements: [Element]) -> Element { values.generator.pick(elements) }
    private mutating func int(_ range: ClosedRange<Int>) -> Int { values.generator.int(range) }

    // MARK: Values

    mutating func conversation() -> ConversationID { .test(int(1...4)) }
    mutating func message() -> MessageID { .test(int(1...24)) }
    private mutating func announcement() -> AnnouncementID { .test(int(1...6)) }
    mutating func user() -> UserID {
        pick([WireJSON.ana, WireJSON.ben, WireJSON.cleo, UserID(trusted: "d.é \u{301}/%")])
    }

    /// Returns a plausible or an invalid number for positions, counts and sizes.
    private mutating func number() -> Int64 {
        chance(80) ? Int64(int(0...60)) : pick(Self.extremes)
    }

    private static let extremes: [Int64] = [
        .max, .min, .max - 1, -1, -8192, 1 << 62, (1 << 62) - 1, 1 << 49, (1 << 49) - 1, Int64(Int32.max),
        Int64(Int32.max) + 1, 1 << 53,
    ]

    private mutating func place() -> Int64 {
        let chosen = number()
        return chance(85) ? chosen.multipliedReportingOverflow(by: Position.wireStep).partialValue : chosen
    }

    private mutating func time() -> JSONValue {
        pick([
            "2018-05-04T09:31:00.000Z", "2018-05-04T09:31:00.001Z", "9999-12-31T23:59:60Z", "0000-01-01T00:00:00+23:59",
            "2018-05-04", nil, 7,
            "99999999999999999999-01-01T00:00:00Z", "-2147483648-01-01T00:00:00.99999999999999999999Z",
        ])
    }

    private mutating func text() -> JSONValue { .string(values.text()) }

    /// Returns a metadata tree or another value. Some trees are too deep, or have paths too long, for a server to
    /// store.
    private mutating func tree() -> JSONValue {
        switch int(0...9) {
        case 0: return (0..<pick([31, 32, 33, 400])).reduce("deep") { inner, _ in ["a": inner] }
        case 1: return [String(repeating: "a.", count: pick([16, 600, 30_000])) + "b": "long"]
        case 2: return values.value()
        default: return ["title": text(), "a": ["b": text(), "c.d": text()]]
        }
    }

    // MARK: Objects

    private mutating func conversationObject() -> JSONValue {
        var users = (0..<int(0...3)).map { _ in user() }
        if chance(80) { users.append(WireJSON.ana) }
        var json = WireJSON.conversation(
            conversation(), participants: users, metadata: tree(), isDistinct: chance(40),
            epoch: pick(["first", "first", "first", "second"]))
        json["position"] = .integer(number())
        json["unread_message_count"] = .integer(number())
        json["total_message_count"] = .integer(number())
        if chance(60) { json["last_message"] = messageObject() }
        json["created_at"] = time()
        return json
    }

    private mutating func messageObject(in id: ConversationID? = nil) -> JSONValue {
        let message = message()
        var json = WireJSON.message(
            message, in: id ?? conversation(), at: 1, from: user(), isUnread: chance(50),
            parts: (0..<int(0...3)).map { _ in part(of: message) })
        json["position"] = .integer(place())
        json["updated_at"] = time()
        json["sent_at"] = time()
        if chance(20) { json["recipient_status"] = values.value() }
        return json
    }

    private mutating func part(of message: MessageID) -> JSONValue {
        let id: ContentID = .test(int(1...3))
        var json = WireJSON.part(PartIDs.part(int(1...4)), of: message)
        json["size"] = .integer(number())
        json["mime_type"] = pick(["text/plain", "image/jpeg", text()])
        json["updated_at"] = time()
        if chance(50) {
            json["body"] = nil
            json["content"] = [
                "id": .string(id.layerID), "download_url": "http://127.0.0.1:1/x", "expiration": time(),
                "size": .integer(number()),
            ]
        } else if chance(30) {
            (json["encoding"], json["body"]) = ("base64", pick(["aGk=", "====", text()]))
        }
        return json
    }

    private mutating func identityObject() -> JSONValue {
        var json = WireJSON.identity(user(), name: values.text())
        json["metadata"] = tree()
        json["presence"] = ["status": pick(["available", "offline", text()]), "last_seen_at": time()]
        return json
    }

    private mutating func announcementObject() -> JSONValue {
        let id = announcement()
        var json = WireJSON.announcement(id, isUnread: chance(50))
        json["position"] = .integer(place())
        json["parts"] = .array((0..<int(0...2)).map { _ in part(of: MessageID(rawValue: id.rawValue)) })
        return json
    }

    // MARK: Packets

    /// Returns the answers that make an engine live.
    func liveness() -> [JSONValue] {
        ["baseline", "replay"]
            .map { id in
                let body: JSONValue = [
                    "request_id": .string(id), "success": true, "data": ["complete": true, "epoch": "first"],
                ]
                return ["type": "response", "timestamp": "2018-05-04T09:31:00.000Z", "body": body]
            }
    }

    /// Returns a packet, with or without an error.
    /// - Parameter requests: the requests with a pending answer.
    mutating func packet(requests: [String]) -> JSONValue {
        var packet = wellFormedPacket(requests: requests)
        packet["timestamp"] = time()
        return chance(45) ? values.mutated(packet) : packet
    }

    private mutating func wellFormedPacket(requests: [String]) -> JSONValue {
        let kinds: [(inout HostileTraffic) -> JSONValue] = [
            { WireJSON.created($0.conversationObject(), at: $0.number()) },
            { WireJSON.created($0.messageObject(), at: $0.number()) },
            { WireJSON.created($0.messageObject(), at: $0.number()) },
            { $0.conversationUpdate() },
            { $0.conversationUpdate() },
            { traffic in
                var json = WireJSON.deleted(traffic.conversation(), traffic.pick([.myDevices, .allParticipants]))
                json["body"]["data"]["from_position"] = traffic.chance(70) ? .integer(traffic.place()) : .null
                json["body"]["user_position"] = .integer(traffic.number())
                return json
            },
            { WireJSON.deleted($0.message(), in: $0.conversation(), at: $0.number()) },
            { traffic in
                var json = WireJSON.allRead(traffic.conversation(), by: traffic.user(), upTo: 1, at: traffic.number())
                json["body"]["data"]["position"] = .integer(traffic.place())
                return json
            },
            { $0.messageUpdate() },
            { $0.partUpdate() },
            { $0.ownChange("Identity", $0.user().layerID, $0.identityObject()) },
            { traffic in
                let object = traffic.announcementObject()
                return traffic.ownChange("Announcement", object["id"].string ?? "", object)
            },
            { $0.response(requests: requests) },
            { traffic in
                let action = traffic.pick(["started", "paused", "finished", "x"])
                return [
                    "type": "signal",
                    "body": [
                        "type": "typing_indicator", "object": ["id": .string(traffic.conversation().layerID)],
                        "data": ["action": .string(action), "sender": WireJSON.identity(traffic.user())],
                    ],
                ]
            },
        ]
        return pick(kinds)(&self)
    }

    private mutating func conversationUpdate() -> JSONValue {
        let operations = (0..<int(1...3))
            .map { _ -> JSONValue in
                switch int(0...6) {
                case 0: return WireJSON.add(user())
                case 1: return WireJSON.remove(user())
                case 2: return WireJSON.set(pick(["unread_message_count", "total_message_count"]), .integer(number()))
                case 3: return WireJSON.set("last_message", messageObject())
                case 4: return WireJSON.delete(pick(["metadata", "metadata.a", "metadata.", "metadata.a.b"]))
                case 5:
                    return WireJSON.set(
                        "metadata" + String(repeating: ".a", count: pick([0, 1, 2, 33, 20_000])), tree())
                default: return WireJSON.set(pick(["distinct", "participants", "metadata.title"]), values.value())
                }
            }
        return WireJSON.change(
            "update", "Conversation", conversation().layerID, at: chance(80) ? number() : nil,
            user: chance(30) ? number() : nil, .array(operations))
    }

    private mutating func messageUpdate() -> JSONValue {
        let id = message()
        let operations = (0..<int(1...3))
            .map { _ -> JSONValue in
                switch int(0...4) {
                case 0: return WireJSON.status(pick(["sent", "delivered", "read", "x"]), of: user())
                case 1: return ["operation": "add", "property": "parts", "value": part(of: id)]
                case 2:
                    return ["operation": pick(["remove", "delete"]), "property": "parts", "id": part(of: id)["id"]]
                case 3: return WireJSON.set("parts", .array((0..<int(0...3)).map { _ in part(of: id) }))
                default: return WireJSON.set("updated_at", time())
                }
            }
        return WireJSON.change(
            "update", "Message", id.layerID, at: number(), in: chance(80) ? conversation() : nil, .array(operations))
    }

    private mutating func partUpdate() -> JSONValue {
        let part = part(of: message())
        let members = ["mime_type", "body", "encoding", "content", "size", "updated_at"]
            .map { WireJSON.set($0, part[$0]) }
        return WireJSON.change(
            "update", "MessagePart", part["id"].string ?? "", at: number(), in: conversation(), .array(members))
    }

    private mutating func ownChange(_ type: String, _ id: String, _ object: JSONValue) -> JSONValue {
        let operation = pick(["create", "update", "delete"])
        let steps: JSONValue = [
            WireJSON.set(
                pick(["display_name", "metadata", "presence.status", "presence.last_seen_at", "blocked"]),
                values.value()),
            WireJSON.set("blocked", .bool(chance(50))), WireJSON.set("recipient_status.x", "read"),
        ]
        return WireJSON.change(operation, type, id, user: number(), operation == "update" ? steps : object)
    }

    private mutating func response(requests: [String]) -> JSONValue {
        let id = pick(["baseline", "replay", "replay", "presence", "heartbeat", "change-x"] + requests + requests)
        let isSuccess = chance(70)
        return [
            "type": "response",
            "body": [
                "request_id": .string(id), "success": .bool(isSuccess),
                "data": isSuccess ? answerData() : error(),
            ],
        ]
    }

    private mutating func answerData() -> JSONValue {
        switch int(0...3) {
        case 0: return conversationObject()
        case 1: return messageObject()
        case 2: return ["complete": .bool(chance(80)), "epoch": pick(["first", "second", nil])]
        default:
            return [
                "changes": .array(
                    (0..<int(0...2)).map { _ in ownChange("Identity", user().layerID, identityObject())["body"] })
            ]
        }
    }

    private mutating func error() -> JSONValue {
        let id = pick([
            "id_in_use", "conflict", "predecessor_failed", "service_unavailable", "not_found", "access_denied",
            "invalid_property", "x",
        ])
        return [
            "id": .string(id), "message": text(),
            "data": pick([
                conversationObject(), messageObject(), ["property": "parts.0.content"], ["property": "metadata.a"],
                values.value(),
            ]),
        ]
    }

    // MARK: Answers over REST

    /// Returns an answer to a load; to a change if `load` is nil.
    mutating func answer(to load: SyncLoad?) -> RESTResponse {
        let status = chance(80) ? 200 : pick([204, 404, 410, 422, 429, 500, 503, 600, 0])
        var json = status == 200 ? page(of: load) : error()
        if chance(40) { json = values.mutated(json) }
        var headers: [(String, String)] = []
        if chance(40) {
            let next = "<https://chat.example.org/x?from_id=1>; rel=\"next\""
            headers.append(
                (
                    "Link",
                    pick([next, next, "<>; rel=\"next\"", "<a b>; rel=\"next\"", "> rel=\"next\"", values.text()])
                ))
        }
        for name in ["Layer-Count", "Retry-After", "Strata-Position", "Strata-User-Position"] where chance(60) {
            headers.append((name, chance(80) ? "\(number())" : "99999999999999999999"))
        }
        return RESTResponse(
            status: status, headers: headers.map { .init(name: $0, value: $1) }, body: Data(json.text.utf8))
    }

    private mutating func page(of load: SyncLoad?) -> JSONValue {
        switch load {
        case .conversations:
            return .array(
                (0..<int(0...3))
                    .map { _ in
                        var object = conversationObject()
                        if let id = ConversationID(parsing: object["id"].string ?? "") {
                            object["messages"] = .array(
                                (0..<int(0...4)).map { _ in messageObject(in: chance(90) ? id : nil) })
                        }
                        return object
                    })
        case .identities, .blocks: return .array((0..<int(0...3)).map { _ in identityObject() })
        case .announcements: return .array((0..<int(0...3)).map { _ in announcementObject() })
        case .conversation: return conversationObject()
        case .history(let id): return .array((0..<int(0...5)).map { _ in messageObject(in: chance(90) ? id : nil) })
        case nil: return answerData()
        }
    }
}

/// Ids of parts, shared by several messages.
private enum PartIDs {
    static func part(_ number: Int) -> UUID { MessageID.test(number).rawValue }
}
