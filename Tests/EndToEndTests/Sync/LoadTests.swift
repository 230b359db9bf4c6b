// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("concurrent load")
    struct LoadTests {
        @Test("eight users write concurrently on two gateways, and every socket receives every position once, in order")
        func everyPosition() async throws {
            let users = try await Cluster.shared().app().signIn((0..<8).map { "user\($0)" })
            let conversation = try await users[0].converse(with: Array(users.dropFirst()), distinct: false)
            var sockets: [ProtocolSocket] = []
            for user in users { sockets.append(try await user.open()) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, user) in users.enumerated() {
                    let socket = sockets[index]
                    group.addTask {
                        for number in 0..<25 {
                            let sent = try await socket.ask(
                                "Message.create", conversation.id, TestUser.message("\(user.user) \(number)"))
                            #expect(sent.isSuccess)
                        }
                    }
                    group.addTask {
                        for number in 0..<25 {
                            try await user.patch(
                                conversation, set("metadata.\(user.user).key\(number % 5)", .string("\(number)")))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let head = try #require(try await users[0].view(of: conversation)["position"].int)
            #expect(head == 401)
            for (user, socket) in zip(users, sockets) {
                try await socket.positions(upTo: head, of: conversation)
                #expect(socket.ledger.missing(of: conversation.id, upTo: head) == [], "\(user.user)")
                #expect(socket.faults == [], "\(user.user)")
                // The counts of the last message are in the packet after it.
                let view = ConversationReplica(try await user.view(of: conversation))
                try await eventually("\(user.user) was told what the server has") {
                    socket.replica(of: conversation) == view
                }
            }
        }
    }
}
