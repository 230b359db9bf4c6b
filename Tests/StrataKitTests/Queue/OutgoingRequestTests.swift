// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("requests for pending changes")
struct OutgoingRequestTests {
    private let chat = ConversationID.test(1)

    private func request(
        _ change: LocalChange, in conversation: ConversationID? = .test(1), isOrdered: Bool = false
    ) -> OutgoingRequest? {
        OutgoingRequest(
            QueuedOperation(id: UUID(), sequence: 1, madeAt: 0, conversation: conversation, change: change),
            isOrdered: isOrdered)
    }

    @Test(
        "a creation request has the conversation's id, and its metadata as a tree",
        .proves("CONV-36", "STORE-4", "META-12", "RCPT-8"))
    func createConversation() {
        var new = StoreFixture.newConversation(isDistinct: true, metadata: ["title": "Lunch", "theme.color": "FFF"])
        new.deliveryReceipts = false
        let data: JSONValue = [
            "id": .string(chat.layerID), "participants": ["layer:///identities/ana", "layer:///identities/ben"],
            "distinct": true,
            "metadata": ["title": "Lunch", "theme": ["color": "FFF"]], "delivery_receipts": false,
            "read_receipts": true,
        ]
        #expect(request(.createConversation(new)) == .socket(method: "Conversation.create", objectID: nil, data: data))
    }

    @Test("a send request has the message with the ids of its parts", .proves("STORE-4"))
    func sendMessage() {
        var message = StoreFixture.newMessage(.test(2), "hi")
        message.parts.append(PartRecord(id: UUID(), mimeType: "image/png", size: 70_000, content: .test(5)))
        message.parts.append(PartRecord(id: UUID(), mimeType: "image/png", body: Data([0, 1]), size: 2))
        message.notification = #"{"text":"Hi"}"#
        func name(_ index: Int) -> JSONValue { .string(WireJSON.partLayerID(message.parts[index].id, of: message.id)) }
        let parts: JSONValue = [
            ["id": name(0), "mime_type": "text/plain", "body": "hi"],
            [
                "id": name(1), "mime_type": "image/png",
                "content": ["id": .string(ContentID.test(5).layerID), "size": 70_000],
            ],
            ["id": name(2), "mime_type": "image/png", "body": "AAE=", "encoding": "base64"],
        ]
        var data: JSONValue = ["id": .string(message.id.layerID), "parts": parts, "notification": ["text": "Hi"]]
        #expect(request(.sendMessage(message)) == .socket(method: "Message.create", objectID: chat.layerID, data: data))
        data["ordered"] = true
        #expect(
            request(.sendMessage(message), isOrdered: true)
                == .socket(method: "Message.create", objectID: chat.layerID, data: data))
    }

    @Test(
        "a metadata request has sets of one text or a group, and deletions of one path or of all",
        .proves("META-14", "META-30"))
    func patchMetadata() {
        let steps: [LocalChange.MetadataStep] = [
            StoreFixture.step("a.b", "1"), .init(path: "g", values: ["g.x": "1", "g.y.z": "2"]),
            StoreFixture.step("c", nil),
            .init(path: "e", values: [:]), .init(path: "", values: nil),
        ]
        let body: JSONValue = [
            ["operation": "set", "property": "metadata.a.b", "value": "1"],
            ["operation": "set", "property": "metadata.g", "value": ["x": "1", "y": ["z": "2"]]],
            ["operation": "delete", "property": "metadata.c"], ["operation": "delete", "property": "metadata.e"],
            ["operation": "set", "property": "metadata", "value": [:]],
        ]
        #expect(
            request(.patchMetadata(steps))
                == .rest(method: "PATCH", path: "/conversations/\(chat)", body: body, isIdempotent: true))
    }

    @Test("a participants request has additions and removals")
    func changeParticipants() {
        let steps: [LocalChange.ParticipantStep] = [
            .init(user: WireJSON.cleo, isAdded: true), .init(user: WireJSON.ben, isAdded: false),
        ]
        let body: JSONValue = [
            ["operation": "add", "property": "participants", "id": "layer:///identities/cleo"],
            ["operation": "remove", "property": "participants", "id": "layer:///identities/ben"],
        ]
        #expect(
            request(.changeParticipants(steps))
                == .rest(method: "PATCH", path: "/conversations/\(chat)", body: body, isIdempotent: true))
    }

    @Test("deletion requests have a mode, and a position for the own devices", .proves("DEL-1", "CONV-41"))
    func deletions() {
        func path(_ change: LocalChange) -> String? {
            guard case .rest(let method, let path, let body, let isIdempotent)? = request(change) else { return nil }
            return method == "DELETE" && body == nil && isIdempotent ? path : nil
        }
        #expect(
            path(.deleteMessage(.test(2), .allParticipants)) == "/messages/\(MessageID.test(2))?mode=all_participants")
        #expect(
            path(.deleteConversation(.allParticipants, upTo: 4, leaves: false))
                == "/conversations/\(chat)?mode=all_participants")
        #expect(
            path(.deleteConversation(.myDevices, upTo: 4, leaves: false))
                == "/conversations/\(chat)?mode=my_devices&position=4")
        #expect(
            path(.deleteConversation(.myDevices, upTo: 4, leaves: true))
                == "/conversations/\(chat)?mode=my_devices&position=4&leave=true")
        #expect(path(.deleteAnnouncement(.test(3))) == "/announcements/\(AnnouncementID.test(3))")
    }

    @Test("receipt requests have an idempotency key, except deliveries")
    func receipts() {
        let ids: JSONValue = [.string(MessageID.test(2).layerID), .string(MessageID.test(3).layerID)]
        let path = "/conversations/\(chat)/receipts"
        #expect(
            request(.markRead([.test(2), .test(3)]))
                == .rest(method: "POST", path: path, body: ["type": "read", "ids": ids], isIdempotent: true))
        #expect(
            request(.confirmDelivery([.test(2), .test(3)]))
                == .rest(method: "POST", path: path, body: ["type": "delivery", "ids": ids], isIdempotent: false))
        #expect(
            request(.markAnnouncementRead(.test(3)), in: nil)
                == .rest(
                    method: "POST", path: "/announcements/\(AnnouncementID.test(3))/receipts", body: ["type": "read"],
                    isIdempotent: true))
    }

    @Test("follow and block requests have encoded user ids in paths")
    func people() {
        let user = UserID(trusted: "a b/c")
        #expect(
            request(.follow([user]), in: nil)
                == .rest(method: "POST", path: "/following/users", body: [.string(user.layerID)], isIdempotent: true))
        #expect(
            request(.unfollow([user]), in: nil)
                == .rest(method: "DELETE", path: "/following/users/a%20b%2Fc", body: nil, isIdempotent: true))
        #expect(
            request(.block(user), in: nil)
                == .rest(method: "PUT", path: "/blocks/users/a%20b%2Fc", body: nil, isIdempotent: true))
        #expect(
            request(.unblock(user), in: nil)
                == .rest(method: "DELETE", path: "/blocks/users/a%20b%2Fc", body: nil, isIdempotent: true))
    }

    @Test("a change always produces the same bytes, also after the end of the app", .proves("STORE-4"))
    func sameBytes() throws {
        let values = Dictionary(uniqueKeysWithValues: (1...40).map { ("g.k\($0)", "v") })
        let operation = QueuedOperation(
            id: UUID(), sequence: 1, madeAt: 0, conversation: chat,
            change: .patchMetadata([.init(path: "g", values: values)]))
        func bytes(_ operation: QueuedOperation) -> String? {
            guard case .rest(_, _, let body, _)? = OutgoingRequest(operation) else { return nil }
            return body?.text
        }
        let stored = try StoreCoding.value(QueuedOperation.self, from: StoreCoding.json(operation))
        #expect(stored == operation)
        #expect(bytes(stored) == bytes(operation))
    }

    @Test("a change of one small value is smaller than one of a large value", .proves("META-21"))
    func size() {
        func size(_ value: String) -> Int {
            guard case .rest(_, _, let body, _)? = request(.patchMetadata([StoreFixture.step("a", value)])) else {
                return 0
            }
            return body?.text.utf8.count ?? 0
        }
        #expect(size("x") < 80 && size(String(repeating: "x", count: 2048)) > 2048)
    }
}
