// SPDX-License-Identifier: Apache-2.0

import KitClient
import Testing

@testable import Soak

/// A judge that finds nothing proves nothing. Each test breaks one promise of StrataKit in a good story, and expects
/// the judge to detect it.
@Suite("StrataKit: the judge of the faults")
struct KitJudgeTests {
    private typealias Change = History.Conversation.Change

    /// The history of the apps in a trial, and the final state of the server.
    struct Outcome: Sendable {
        var story = KitStory()
        var conversation: History.Conversation
        var differences: [String] = []
    }

    private static let id = "conversation"
    private static let device = "ana-1"

    private static func record(_ number: Int, _ action: KitCommand.Action, _ objects: [String] = []) -> KitRecord {
        KitRecord(device: device, user: "ana", number: number, action: action, objects: objects, outcome: .accepted)
    }

    /// An outcome without violations. The second value of the same path was set before the first one was sent.
    private static var good: Outcome {
        var outcome = Outcome(
            conversation: History.Conversation(
                id: id,
                log: [
                    Change(position: 1, kind: .created(participants: ["ana", "ben"])),
                    Change(position: 2, kind: .message("m1")),
                    Change(position: 3, kind: .metadata([.init(path: "once.x", value: "v1")])),
                    Change(position: 4, kind: .metadata([.init(path: "last.ana-1", value: "v3")])),
                    Change(position: 5, kind: .participants(added: ["guest"], removed: [])),
                    Change(position: 6, kind: .message("m2")),
                    Change(position: 7, kind: .messageDeleted("m1")),
                ], participants: ["ana", "ben", "guest"], metadata: ["once.x": "v1", "last.ana-1": "v3"],
                messages: [.init(id: "m2", sender: "ana", recipients: ["ana", "ben", "guest"], readers: ["ana"])],
                unread: ["ana": 0, "ben": 1, "guest": 1]))
        outcome.story.records = [
            record(1, .send(conversation: id, text: "one"), ["m1"]),
            record(2, .set(conversation: id, path: "once.x", value: "v1")),
            record(3, .set(conversation: id, path: "last.ana-1", value: "v2")),
            record(4, .set(conversation: id, path: "last.ana-1", value: "v3")),
            record(5, .add(conversation: id, user: "guest")), record(6, .send(conversation: id, text: "two"), ["m2"]),
            record(7, .delete(conversation: id), ["m1"]),
        ]
        return outcome
    }

    private static func kinds(_ outcome: Outcome) -> Set<Violation.Kind> {
        Set(
            KitJudge.violations(
                of: outcome.story, differences: outcome.differences, conversations: [outcome.conversation]
            )
            .map(\.kind))
    }

    @Test("a valid run has no violations")
    func nothing() { #expect(Self.kinds(Self.good) == []) }

    @Test("a refused change that was reported to the app as failed may be missing")
    func failed() {
        var outcome = Self.good
        outcome.conversation.log[5] = Change(position: 6, kind: .receipts)
        outcome.conversation.messages = []
        outcome.conversation.unread = ["ana": 0, "ben": 0, "guest": 0]
        #expect(Self.kinds(outcome) == [.lost])
        outcome.story.failures = [
            KitFailure(
                device: Self.device, operation: "sendMessage", conversation: Self.id, messages: ["m2"], error: "refused"
            )
        ]
        #expect(Self.kinds(outcome) == [])
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: Violation.Kind
        let apply: @Sendable (inout Outcome) -> Void

        init(_ what: String, _ kind: Violation.Kind, _ apply: @escaping @Sendable (inout Outcome) -> Void) {
            (testDescription, self.kind, self.apply) = (what, kind, apply)
        }
    }

    private static let damages: [Damage] = [
        Damage("a message that was accepted was not sent", .lost) { outcome in
            outcome.conversation.log[5] = Change(position: 6, kind: .receipts)
            outcome.conversation.messages = []
        },
        Damage("a message was sent twice", .duplicated) { outcome in
            outcome.conversation.log.append(Change(position: 8, kind: .message("m2")))
        },
        Damage("a message was sent although the app was told that it had failed", .invented) { outcome in
            outcome.story.failures = [
                KitFailure(
                    device: device, operation: "sendMessage", conversation: id, messages: ["m2"], error: "refused")
            ]
        },
        Damage("a message was sent although sending it had thrown an error", .invented) {
            $0.story.records[5].outcome = .thrown
        },
        Damage("two messages of a device were sent the wrong way round", .reordered) { outcome in
            outcome.conversation.log[1] = Change(position: 2, kind: .message("m2"))
            outcome.conversation.log[5] = Change(position: 6, kind: .message("m1"))
        },
        Damage("a value that was set once was not sent", .lost) { outcome in
            outcome.conversation.log[2] = Change(position: 3, kind: .receipts)
            outcome.conversation.metadata["once.x"] = nil
        },
        Damage("the last value of a path did not win", .lost) { outcome in
            outcome.conversation.log[3] = Change(position: 4, kind: .metadata([.init(path: "last.ana-1", value: "v2")]))
            outcome.conversation.metadata["last.ana-1"] = "v2"
        },
        Damage("a user who was added is not there", .lost) { outcome in
            outcome.conversation.log[4] = Change(position: 5, kind: .receipts)
            outcome.conversation.participants.remove("guest")
            outcome.conversation.unread["guest"] = nil
            outcome.conversation.messages = [
                .init(id: "m2", sender: "ana", recipients: ["ana", "ben"], readers: ["ana"])
            ]
        },
        Damage("a user who was removed is still there", .lost) { outcome in
            outcome.story.records.append(record(8, .remove(conversation: id, user: "guest")))
        },
        Damage("a message that was deleted is listed", .lost) { outcome in
            outcome.conversation.log.removeLast()
            outcome.conversation.messages.insert(
                .init(id: "m1", sender: "ana", recipients: ["ana", "ben", "guest"], readers: ["ana", "ben", "guest"]),
                at: 0)
        },
        Damage("a store differs from a fresh load", .stale) { $0.differences = ["ana-1: m2 is missing"] },
    ]

    @Test("the judge finds each broken promise", arguments: damages)
    func damage(_ damage: Damage) {
        var outcome = Self.good
        damage.apply(&outcome)
        #expect(Self.kinds(outcome).contains(damage.kind))
    }
}
