// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestSupport
import Testing

@testable import Soak
@testable import TestCluster

/// Each test damages good deliveries in one way, and expects the judge to detect it.
@Suite("webhook judge")
struct HookJudgeTests {
    private typealias Change = History.Conversation.Change
    private typealias Content = HookDelivery.Content

    private static let id = "conversation"
    private static let all = TestHook.all[0]

    private static let log: [Change] = [
        Change(position: 1, kind: .created(participants: ["ana", "ben"])),
        Change(position: 2, kind: .message("m1")),
        Change(position: 3, kind: .metadata([.init(path: "a", value: nil), .init(path: "a.b", value: "v1")])),
        Change(position: 4, kind: .receipts),
        Change(position: 5, kind: .participants(added: ["dan", "cleo"], removed: ["eve"])),
        Change(position: 6, kind: .message("m2")),
        Change(position: 7, kind: .metadata([.init(path: "a", value: nil)])),
        Change(position: 8, kind: .messageDeleted("m2")),
    ]

    private static let contents: [Content] = [
        .conversationCreated, .message(id: "m1"), .metadata(["delete a", "set a.b=v1"]),
        .receipts(user: "ben", isRead: true, from: 2, to: 2),
        .added(["cleo", "dan"]), .removed(["eve"]), .message(id: "m2"), .metadata(["delete a"]),
        .messageDeleted(id: "m2"),
    ]

    private static let history = History(
        operations: [
            History.Operation(
                actor: "ben", conversation: id, action: .read(message: "m1"), begun: 1, ended: 2, outcome: .acknowledged
            ),
            // These reads produce no receipt: the reader joined later, or is the sender.
            History.Operation(
                actor: "cleo", conversation: id, action: .read(message: "m1"), begun: 3, ended: 4,
                outcome: .acknowledged),
            History.Operation(
                actor: "ana", conversation: id, action: .read(message: "m1"), begun: 5, ended: 6, outcome: .acknowledged
            ),
        ],
        conversations: [
            History.Conversation(
                id: id, log: log, participants: ["ana", "ben", "cleo", "dan"], metadata: [:],
                messages: [
                    .init(
                        id: "m1", sender: "ana", recipients: ["ana", "ben", "cleo"], readers: ["ana", "ben", "cleo"])
                ], unread: [:])
        ])

    private static func delivery(
        _ number: Int, _ content: Content, of hook: TestHook = all, digest: UInt64 = 0
    ) -> HookDelivery {
        HookDelivery(hook: hook.path, time: 0, id: "event\(number)", conversation: id, content: content, digest: digest)
    }

    private static var good: [HookDelivery] { contents.enumerated().map { delivery($0, $1) } }

    private static func kinds(_ deliveries: [HookDelivery], _ hooks: [TestHook] = [all]) -> [Violation.Kind] {
        HookJudge.violations(of: deliveries, to: hooks, in: history).map(\.kind)
    }

    @Test("valid deliveries with any repetitions have no violations")
    func nothing() {
        #expect(Self.kinds(Self.good) == [])
        #expect(Self.kinds(Self.good + [Self.good[1], Self.good[0]]) == [])
        let other = TestHook.all[1]
        let some = [
            Self.delivery(0, .message(id: "m1"), of: other),
            Self.delivery(1, .metadata(["delete a", "set a.b=v1"]), of: other),
            Self.delivery(2, .message(id: "m2"), of: other), Self.delivery(3, .metadata(["delete a"]), of: other),
        ]
        #expect(Self.kinds(Self.good + some, [Self.all, other]) == [])
    }

    @Test("a missing event is lost, for each hook that subscribes to it", arguments: [0, 1, 2, 3, 4, 5, 6, 7, 8])
    func lost(_ index: Int) {
        var deliveries = Self.good
        deliveries.remove(at: index)
        #expect(Self.kinds(deliveries).contains(.lost))
        #expect(!Self.kinds(deliveries).contains(.invented))
        #expect(Self.kinds(Self.good, [Self.all, TestHook.all[2]]) == [.lost, .lost])
    }

    @Test("the judge finds two events in the wrong order", arguments: [0, 1, 2, 4, 5, 6, 7])
    func reordered(_ index: Int) {
        var deliveries = Self.good
        deliveries.swapAt(index, Self.contents[index + 1] == Self.contents[3] ? index + 2 : index + 1)
        #expect(Self.kinds(deliveries).contains(.reordered))
        #expect(Set(Self.kinds(deliveries)) == [.reordered])
    }

    @Test("the judge finds a receipt ahead of its message")
    func receiptAhead() {
        var deliveries = Self.good
        deliveries.swapAt(1, 3)
        #expect(Self.kinds(deliveries).contains(.reordered))
    }

    @Test("the judge finds a repetition with another body, an event under two ids, and an event without a change")
    func others() {
        #expect(Self.kinds(Self.good + [Self.delivery(1, Self.contents[1], digest: 1)]) == [.inconsistent])
        #expect(Self.kinds(Self.good + [Self.delivery(99, Self.contents[1])]) == [.invented])
        #expect(Self.kinds(Self.good + [Self.delivery(99, .message(id: "m3"))]) == [.invented])
        #expect(Self.kinds(Self.good + [Self.delivery(99, .other("Push"))]) == [.invented])
    }

    @Test("the judge reads events of each version and keeps them in a file")
    func parsed() async throws {
        func event(_ json: JSONValue) -> WebhookReceiver.Event {
            .init(path: "/all", headers: [:], body: Array(json.text.utf8), json: json)
        }
        func content(_ type: String, _ members: JSONValue) -> Content {
            var json = members
            json["event"] = ["id": "e", "type": .string(type)]
            return HookDelivery(event(json), time: 0).content
        }
        #expect(content("message.sent", ["message": ["id": "m", "conversation": ["id": "c"]]]) == .message(id: "m"))
        #expect(content("Participation.created", ["changes": [["id": "layer:///identities/ben"]]]) == .added(["ben"]))
        #expect(content("Participation.deleted", ["changes": [["id": "layer:///identities/ben"]]]) == .removed(["ben"]))
        #expect(
            content(
                "Conversation.updated",
                [
                    "changes": [
                        ["operation": "set", "property": "metadata.a.b", "value": "v"],
                        ["operation": "delete", "property": "metadata.c"],
                    ]
                ]) == .metadata(["set a.b=v", "delete c"]))
        #expect(
            content(
                "Receipt.created",
                ["actor": ["user_id": "ben"], "receipt": ["type": "Read", "positions": ["from": 16384, "to": 24576]]])
                == .receipts(user: "ben", isRead: true, from: 2, to: 3))
        let directory = try TestDirectory.make("deliveries")
        let file = try DeliveryFile.Writer(directory: directory)
        var reader = DeliveryFile.Reader(directory: directory)
        for delivery in Self.good {
            try file.append(delivery)
            try reader.read()
        }
        try file.append(Self.good[0])
        try reader.read()
        #expect(reader.deliveries == Self.good + [Self.good[0]] && reader.repetitions == 1)
    }
}
