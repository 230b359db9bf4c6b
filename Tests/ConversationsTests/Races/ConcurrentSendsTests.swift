// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import TestSupport
import Testing

@testable import Conversations

extension StoreTests {
    /// Two complete instances of the service, called over sockets, which publish over a real Redis.
    @Suite struct ConcurrentSendsTests {
        private let app = AppID.random()
        private let id = ConversationID.random()
        private let users = (0..<8).map { "user\($0)" }
        private let each = 25

        @Test(
            "eight concurrent senders receive positions 1 to n without gaps or duplicates, and published changes equal the log"
        )
        func sends() async throws {
            let (postgres, redis) = (try await ServiceFixture.migratedDatabase(), try await TestServers.redis().url)
            try await RunningService.run(postgres: postgres, redis: redis) { first in
                try await RunningService.run(postgres: postgres, redis: redis) { second in
                    try await Listener.run(redis, [Channels.conversation(id)]) { listener in
                        try await create(first)
                        let answers = try await sendAll([first, second])
                        let logged = try await log(second)
                        let published = try await heard(listener)
                        check(answers, logged, published)
                    }
                }
            }
        }

        private func check(_ answers: [StrataModel.Message], _ logged: [Change], _ published: [Change]) {
            let count = Int64(users.count * each)
            #expect(answers.map(\.position.rawValue).sorted() == Array(2...count + 1))
            #expect(answers.map(\.ordinal).sorted() == Array(1...count))
            #expect(logged.map(\.position.rawValue) == Array(1...count + 1))
            #expect(zip(logged, logged.dropFirst()).allSatisfy { $0.createdAt <= $1.createdAt })
            let messages = logged.compactMap {
                if case .messageCreated(_, _, let message) = $0.content { message } else { nil }
            }
            #expect(messages == answers.sorted { $0.position < $1.position })
            let inOrder = published.sorted { $0.position < $1.position }
            #expect(inOrder.map { $0.withoutCounts.withoutTree } == logged.map(\.withoutTree))
            // Each change carries the counts of its sender, who has read only their own messages.
            var own: [UserID: Int64] = [:]
            for change in inOrder.dropFirst() {
                guard let sender = change.actor else {
                    Issue.record("a change without an actor")
                    continue
                }
                own[sender, default: 0] += 1
                let counts = UserCounts(excluded: own[sender] ?? 0, hidden: 0, position: change.position)
                #expect(change.counts == [sender: counts])
            }
        }

        private func create(_ running: RunningService) async throws {
            _ = try await running.call(ConversationsAPI.createConversation) {
                $0.appID = Data(app)
                $0.actor = users[0]
                $0.id = Data(id)
                $0.participants = users
            }
        }

        /// Sends all messages concurrently, so that they share transactions.
        private func sendAll(_ instances: [RunningService]) async throws -> [StrataModel.Message] {
            try await withThrowingTaskGroup(of: StrataModel.Message.self) { group in
                for user in users {
                    for number in 0..<each {
                        let instance = instances[number % instances.count]
                        group.addTask { try await send("\(user) \(number)", by: user, instance) }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }

        private func send(
            _ text: String, by user: String, _ running: RunningService
        ) async throws -> StrataModel.Message {
            let response = try await running.call(ConversationsAPI.sendMessage) {
                $0.appID = Data(app)
                $0.actor = user
                $0.conversationID = Data(id)
                $0.id = Data(MessageID.random())
                $0.parts = [ProtoMessagePart(.text(text))]
            }
            return try StrataModel.Message(response.message)
        }

        private func log(_ running: RunningService) async throws -> [Change] {
            let response = try await running.call(ConversationsAPI.readChanges) {
                $0.conversationID = Data(id)
                $0.limit = 1000
            }
            return try response.changes.map { try Change($0) }
        }

        /// Returns exactly the expected number of published changes. A duplicate among them means that another one is
        /// missing.
        private func heard(_ listener: Listener) async throws -> [Change] {
            var published: [Change] = []
            while published.count <= users.count * each {
                let payload = try #require(await listener.next()).payload
                if case .change(let change) = try ConversationPublication(decoding: payload) {
                    published.append(change)
                }
            }
            return published
        }
    }
}
