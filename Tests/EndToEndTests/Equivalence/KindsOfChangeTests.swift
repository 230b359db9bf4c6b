// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import SeededRandom
import TestCluster
import TestSupport
import Testing

extension EndToEnd {
    /// Tests each kind of change separately. A client that receives the change by packets, live or after an absence,
    /// must hold the same state as a fresh load.
    @Suite("kinds of change")
    struct KindsOfChangeTests {
        /// The connection state of the clients during the change.
        enum Presence: String, CaseIterable, Sendable {
            case live
            /// All clients are disconnected, and get the change replayed through the other gateway.
            case away
            /// All clients lose the connection during the change and reconnect at once.
            case interrupted
            /// One client of each version opens its first socket afterwards.
            case late
        }

        struct Kind: Sendable, CustomTestStringConvertible {
            let testDescription: String
            /// The operations and their users. Initial state:
            /// - Ana (3.0), Ben (2.0) and Cleo (3.0) are in conversation 0, which has metadata. Dora (2.0) is in no
            ///   conversation.
            /// - Messages 0 by Ana, 1 by Ben and 2 by Ana are in conversation 0.
            /// - Conversation 1 and message 3 do not exist yet.
            let steps: [(Int, HistoryPlan.Operation)]

            init(_ description: String, _ steps: (Int, HistoryPlan.Operation)...) {
                testDescription = description
                self.steps = steps
            }
        }

        static let text: JSONValue = [["mime_type": "text/plain", "body": "news"]]

        static let kinds: [Kind] = [
            Kind(
                "conversation created",
                (0, .create(1, with: [1, 3], distinct: false, metadata: nil, overSocket: false))),
            Kind(
                "conversation created over a socket",
                (1, .create(1, with: [0, 3], distinct: true, metadata: ["a": "b"], overSocket: true))),
            Kind("participant added", (0, .patch(0, [.add(3)]))),
            Kind("participant removed", (0, .patch(0, [.remove(1)]))),
            Kind("participant removes themselves", (1, .patch(0, [.remove(1)]))),
            Kind(
                "removed, added again", (0, .patch(0, [.remove(2)])),
                (0, .send(3, parts: text, notification: nil, overSocket: false)),
                (1, .patch(0, [.add(2)]))),
            Kind("conversation created by the server", (0, .byServer(.create(1, with: [0, 1, 3])))),
            Kind(
                "participants and metadata changed by the server",
                (0, .byServer(.patch(0, [.set("metadata.title", "x"), .remove(2), .add(3)])))),
            Kind("message sent by the server under a name", (0, .byServer(.send(3)))),
            Kind(
                "message sent by the server under a name, then read", (0, .byServer(.send(3))), (1, .receipt(3, "read"))
            ),
            Kind("message changed by the server", (0, .byServer(.edit(1)))),
            Kind("last message deleted by the server", (0, .byServer(.deleteMessage(2)))),
            Kind("a message of the server deleted by it", (0, .byServer(.send(3))), (0, .byServer(.deleteMessage(3)))),
            Kind("conversation deleted by the server", (0, .byServer(.deleteConversation(0)))),
            Kind("metadata set", (0, .patch(0, [.set("metadata.trip.city", "Porto")]))),
            Kind("metadata deleted", (1, .patch(0, [.delete("metadata.title")]))),
            Kind("the last key of a subtree deleted", (1, .patch(0, [.delete("metadata.a.b")]))),
            Kind("metadata replaced", (2, .patch(0, [.set("metadata", ["x": ["y": "1"]])]))),
            Kind(
                "a leaf set where a tree was, and a tree where a leaf was",
                (2, .patch(0, [.set("metadata.a", "1"), .set("metadata.title.b", "2")]))),
            Kind(
                "metadata and participants at once", (0, .patch(0, [.set("metadata.title", "x"), .remove(2), .add(3)]))),
            Kind("message sent", (0, .send(3, parts: text, notification: nil, overSocket: false))),
            Kind(
                "message sent over a socket, with a notification",
                (1, .send(3, parts: text, notification: ["text": "hm"], overSocket: true))),
            Kind("message delivered", (1, .receipt(0, "delivery"))),
            Kind("message read", (2, .receipt(1, "read"))),
            Kind("message delivered, then read", (1, .receipt(2, "delivery")), (1, .receipt(2, "read"))),
            Kind("several messages delivered at once", (1, .receipts([0, 2], "delivery"))),
            Kind("several messages read at once", (2, .receipts([0, 1, 2], "read"))),
            Kind("all read", (1, .markAllRead(0, upTo: nil))),
            Kind("read up to a position", (2, .markAllRead(0, upTo: 50))),
            Kind("last message deleted for all", (1, .deleteMessage(2, forAll: true))),
            Kind("first message deleted for all", (1, .deleteMessage(0, forAll: true))),
            Kind(
                "all messages deleted for all", (0, .deleteMessage(1, forAll: true)),
                (0, .deleteMessage(0, forAll: true)),
                (0, .deleteMessage(2, forAll: true))),
            Kind("last message deleted on one's own devices", (1, .deleteMessage(2, forAll: false))),
            Kind("unread message deleted on one's own devices", (2, .deleteMessage(1, forAll: false))),
            Kind("conversation deleted for all", (1, .deleteConversation(0, query: "mode=all_participants"))),
            Kind("conversation deleted on one's own devices", (1, .deleteConversation(0, query: "mode=my_devices"))),
            Kind("conversation left and deleted", (1, .deleteConversation(0, query: "mode=my_devices&leave=true"))),
            Kind("messages up to one deleted on one's own devices", (1, .deleteUpTo(0, percent: 50, leaves: false))),
            Kind(
                "messages up to the last one deleted on one's own devices",
                (2, .deleteUpTo(0, percent: 100, leaves: false))),
            Kind("conversation left, and its first messages deleted", (1, .deleteUpTo(0, percent: 50, leaves: true))),
            Kind(
                "messages up to one deleted on one's own devices, then more come, and go",
                (1, .deleteUpTo(0, percent: 50, leaves: false)),
                (0, .send(3, parts: text, notification: nil, overSocket: false)),
                (1, .deleteUpTo(0, percent: 50, leaves: false))),
            Kind(
                "last message deleted for all, and a user has left", (0, .patch(0, [.remove(1)])),
                (2, .deleteMessage(2, forAll: true))),
            Kind(
                "all messages deleted for all, and a user has left", (0, .patch(0, [.remove(1)])),
                (0, .deleteMessage(1, forAll: true)),
                (0, .deleteMessage(0, forAll: true)), (0, .deleteMessage(2, forAll: true))),
            Kind(
                "first message deleted for all between a user's removal and return", (0, .patch(0, [.remove(1)])),
                (0, .deleteMessage(0, forAll: true)), (0, .patch(0, [.add(1)]))),
            Kind(
                "conversation deleted for all, and a user has left", (0, .patch(0, [.remove(1)])),
                (0, .deleteConversation(0, query: "mode=all_participants"))),
            Kind(
                "blocked, messages of both, changed, and all read", (0, .block(1, true)),
                (1, .send(3, parts: text, notification: nil, overSocket: false)),
                (2, .markAllRead(0, upTo: nil)), (0, .markAllRead(0, upTo: nil)), (1, .markAllRead(0, upTo: nil))),
            Kind(
                "blocked, and a hidden message deleted for all", (1, .block(0, true)),
                (0, .send(3, parts: text, notification: nil, overSocket: false)),
                (2, .deleteMessage(2, forAll: true)), (0, .deleteMessage(3, forAll: true))),
            Kind(
                "blocked and free again", (0, .block(1, true)),
                (1, .send(3, parts: text, notification: nil, overSocket: false)),
                (0, .block(1, false)),
                (0, .markAllRead(0, upTo: nil))),
            Kind(
                "conversation of a blocked user, who adds one who has blocked them", (0, .block(1, true)),
                (1, .create(1, with: [0, 3], distinct: false, metadata: nil, overSocket: true)),
                (1, .patch(0, [.remove(0)])),
                (1, .patch(0, [.add(0)]))),
            Kind(
                "conversation deleted on one's own devices does not come back by a hidden message",
                (0, .block(1, true)),
                (0, .deleteConversation(0, query: "mode=my_devices")),
                (1, .send(3, parts: text, notification: nil, overSocket: false))),
            Kind(
                "conversation deleted on one's own devices comes back",
                (1, .deleteConversation(0, query: "mode=my_devices")),
                (0, .send(3, parts: text, notification: nil, overSocket: false))),
        ]

        @Test("clients that received the packets hold the same state as a fresh load", arguments: kinds)
        func told(_ kind: Kind) async throws {
            let app = try await Cluster.shared().app()
            let only = ProcessInfo.processInfo.environment["STRATA_KIND"]
            if let only, only != kind.testDescription { return }
            // The runs are concurrent, with separate users and conversations, because clients mostly wait.
            try await withThrowingTaskGroup(of: HistoryRun.Report.self) { group in
                for presence in Presence.allCases {
                    group.addTask { try await HistoryRun.start(Self.plan(kind, presence), in: app).run() }
                }
                for try await report in group { #expect(report.failures == []) }
            }
        }

        private static func plan(_ kind: Kind, _ presence: Presence) -> HistoryPlan {
            var generator = SeededGenerator(seed: .random(in: .min ... .max))
            var plan = HistoryPlan(name: "\(kind.testDescription), \(presence)", members: [])
            plan.mustSucceed = true
            plan.endsWithMessages = true
            let suffix = generator.int(0...Int.max)
            for (index, name) in ["ana", "ben", "cleo", "dora"].enumerated() {
                let isLate = presence == .late && (index == 1 || index == 2)
                plan.members.append(
                    HistoryPlan.Member(
                        name: "\(name).\(suffix)", version: index % 2 == 0 ? .v3 : .v2, gateway: index % 2,
                        isLate: isLate))
            }
            for _ in 0...1 { _ = plan.newConversation(&generator) }
            for _ in 0...3 { _ = plan.newMessage(in: 0, &generator) }
            let beginning: JSONValue = ["title": "Trip", "a": ["b": "1"]]
            plan.rounds = [
                [
                    HistoryPlan.Step(
                        actor: 0,
                        operation: .create(0, with: [1, 2], distinct: true, metadata: beginning, overSocket: false))
                ]
            ]
            for message in 0...2 {
                let send = HistoryPlan.Operation.send(message, parts: text, notification: nil, overSocket: false)
                plan.rounds.append([HistoryPlan.Step(actor: message % 2, operation: send)])
            }
            plan.snapshotBefore = plan.rounds.count
            let steps = kind.steps.map { HistoryPlan.Step(actor: $0.0, operation: $0.1) }
            let all = Array(plan.members.indices)
            switch presence {
            case .live: plan.rounds += steps.map { [$0] }
            case .away:
                plan.rounds.append(all.map { HistoryPlan.Step(actor: $0, operation: .drop(losing: $0 % 2 == 0)) })
                plan.rounds += steps.map { [$0] }
                plan.replayAgain = all
            case .interrupted:
                plan.rounds +=
                    steps.map { [$0] + all.map { HistoryPlan.Step(actor: $0, operation: .drop(losing: $0 % 2 == 0)) } }
                    .flatMap { [$0, all.map { HistoryPlan.Step(actor: $0, operation: .connect(via: 1 - $0 % 2)) }] }
            case .late:
                plan.rounds += steps.map { [$0] }
                plan.rounds.append([1, 2].map { HistoryPlan.Step(actor: $0, operation: .openLate(via: 0)) })
            }
            return plan
        }
    }
}
