// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataKit
import TestCluster
import TestSupport
import TestTiers
import Testing

extension EndToEnd {
    @Suite("StrataKit: progress of synchronization")
    struct KitProgressTests {
        /// Creates a conversation with ben that has `count` messages.
        private func conversation(_ count: Int, _ app: TestApp) async throws -> ConversationID {
            let users = try await app.signIn(["ana", "ben"])
            let conversation = try await users[0].converse(with: [users[1]], distinct: false)
            for number in 0..<count { _ = try await users[0].send("\(number)", to: conversation) }
            return try #require(ConversationID(parsing: conversation.id))
        }

        /// Returns the events up to and including the first one for which `isLast` is true.
        private func events(
            _ stream: AsyncStream<ClientEvent>, until isLast: @escaping @Sendable (ClientEvent) -> Bool
        ) async throws -> [ClientEvent] {
            var events: [ClientEvent] = []
            for await event in stream {
                events.append(event)
                if isLast(event) { break }
            }
            return events
        }

        @Test(
            "a first synchronization counts the received conversations", .proves("PROG-1", "SYNC-11", "SYNC-66"),
            .timeLimit(.minutes(2)))
        func first() async throws {
            let app = try await Cluster.shared().app()
            for _ in 0..<3 { _ = try await conversation(30, app) }
            let client = try KitUser.client(of: app, "ben", policy: .partialHistory(count: 25))
            let stream = client.events
            try await client.connect()
            try await client.authenticate(
                identityToken: try await app.identityToken("ben", nonce: try await client.requestAuthenticationNonce()))
            let told = try await events(stream) { if case .synchronizationFinished = $0 { true } else { false } }
            let began = told.compactMap { event in
                if case .synchronizationBegan(let progress) = event { progress } else { nil }
            }
            let progress = try #require(began.first)
            #expect(began.count == 1 && progress.unit == .conversations && !progress.isCancellable)
            #expect(progress.total == 3 && progress.completed == 3 && progress.isFinished)
        }

        /// Creates a device of ben behind a proxy. It has the newest of 30 messages.
        private func device(
            _ app: TestApp
        ) async throws -> (ben: KitUser, chat: StrataKit.Conversation, proxy: CuttingProxy) {
            let id = try await conversation(30, app)
            let proxy = try await KitUser.proxy(of: app)
            let ben = try await KitUser.signIn("ben", to: app, policy: .partialHistory(count: 1), proxy: proxy)
            return (ben, try #require(try await ben.client.conversation(id)), proxy)
        }

        @Test(
            "a fetch of older messages reports its progress; a concurrent second fetch throws that progress",
            .proves("PROG-1", "SYNC-55", "SYNC-66", "SYNC-67"),
            .timeLimit(.minutes(2)))
        func history() async throws {
            let (ben, chat, proxy) = try await device(Cluster.shared().app())
            let stream = ben.client.events
            proxy.loseAnswers()
            let progress = try await chat.synchronizeAllMessages(.all)
            #expect(
                progress.unit == .messages && progress.total == 29 && progress.completed == 0 && progress.isCancellable)
            let error = await #expect(throws: StrataError.self) { try await chat.synchronizeMoreMessages(atLeast: 1) }
            #expect(error?.code == .manualSyncAlreadyInProgress && error?.progress == progress)
            proxy.cut()
            for await _ in progress {}
            #expect(progress.completed == 29 && progress.fraction == 1)
            #expect(try await ben.client.messages(in: chat.id).count == 30)
            let told = try await events(stream) {
                if case .conversationSyncFinished(chat.id) = $0 { true } else { false }
            }
            let began = told.compactMap { event in
                if case .conversationSyncBegan(chat.id, let progress) = event { progress } else { nil }
            }
            #expect(began == [progress])
            await proxy.close()
        }

        @Test(
            "a cancelled fetch of older messages ends and can be repeated", .proves("PROG-1"), .timeLimit(.minutes(2)))
        func cancelled() async throws {
            let (ben, chat, proxy) = try await device(Cluster.shared().app())
            let stream = ben.client.events
            proxy.loseAnswers()
            let progress = try await chat.synchronizeMoreMessages(atLeast: 20)
            #expect(progress.total == 20)
            progress.cancel()
            _ = try await events(stream) { if case .conversationSyncFinished(chat.id) = $0 { true } else { false } }
            #expect(progress.isFinished && progress.isCancelled && progress.completed == 0)
            #expect(try await ben.client.messages(in: chat.id).count == 1)
            let again = try await chat.synchronizeMoreMessages(atLeast: 25)
            #expect(again != progress && again.total == 25)
            proxy.cut()
            for await _ in again {}
            #expect(again.completed == 25)
            #expect(try await ben.client.messages(in: chat.id).count >= 26)
            await proxy.close()
        }
    }
}
