// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("receipts of many messages")
    struct BulkReceiptTests {
        /// The number of requests, with 1,000 receipts each, from `STRATA_RECEIPTS`.
        private static let requests = ProcessInfo.processInfo.environment["STRATA_RECEIPTS"].flatMap(Int.init) ?? 1

        @Test("a thousand receipts in one request reach open sockets and a replay, and the sockets stay open")
        func thousand() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            let conversation = try await ana.converse(with: [ben])
            let messages = try await send(1000 * Self.requests, by: ana, to: conversation)
            let anas = try await ana.open()
            let before = try #require(anas.history.last?.timestamp)
            let started = ContinuousClock.now
            for request in 0..<Self.requests {
                let ids = messages[(1000 * request)..<(1000 * request + 1000)].map { JSONValue.string($0) }
                let answer = try await ben.does(
                    "POST", conversation.path + "/receipts", ["type": "delivery", "ids": .array(ids)])
                #expect(answer.json == ["ignored": []])
            }
            let answered = ContinuousClock.now - started
            let isTold: @Sendable ([ReceivedPacket]) -> Bool = { packets in
                Set(packets.filter { $0.isChange("update", of: "Message") }.compactMap(\.objectID))
                    .isSuperset(of: messages)
            }
            try await eventually("the sender is told of each") { isTold(anas.history) }
            print("\(messages.count) receipts: answered in \(answered), told in \(ContinuousClock.now - started)")
            let again = try await ana.openSilent()
            #expect(try await again.ask("Event.replay", nil, ["from_timestamp": .string(before)]).isSuccess)
            #expect(isTold(again.history))
            for socket in [anas, again] {
                #expect(socket.faults == [] && socket.closure == nil)
                await socket.close()
            }
        }

        private func send(_ count: Int, by user: TestUser, to conversation: Conversation) async throws -> [String] {
            try await withThrowingTaskGroup(of: String.self) { group in
                var ids: [String] = []
                for number in 0..<count {
                    if number >= 32, let id = try await group.next() { ids.append(id) }
                    group.addTask { try await user.send("\(number)", to: conversation) }
                }
                for try await id in group { ids.append(id) }
                return ids
            }
        }
    }
}
