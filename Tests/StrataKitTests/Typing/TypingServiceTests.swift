// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

@Suite("typing: the service")
struct TypingServiceTests {
    private let chat = ConversationID.random()
    private let other = ConversationID.random()
    private let ana = Identity(userID: UserID(trusted: "ana"))

    /// A running service with its clock, its sent signals and its published indicators.
    private struct Scene {
        let service: TypingService
        let clock: ManualClock
        let sent: AsyncStream<TypingSender.Signal>
        let published: AsyncStream<TypingIndicator>

        func nextSent() async -> TypingSender.Signal? { await sent.first { _ in true } }
        func nextPublished() async -> TypingAction? { await published.first { _ in true }?.action }
    }

    /// - Parameter before: runs before the service starts.
    private func run(
        before: (TypingService) async -> Void = { _ in }, _ body: (Scene) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        let (sent, sending) = AsyncStream.makeStream(of: TypingSender.Signal.self)
        let (published, publishing) = AsyncStream.makeStream(of: TypingIndicator.self)
        let service = TypingService(user: nil, clock: clock) {
            sending.yield(.init(action: $0, conversationID: $1))
        } publish: {
            publishing.yield($0)
        }
        await before(service)
        let scene = Scene(service: service, clock: clock, sent: sent, published: published)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await service.run() }
            try await body(scene)
            group.cancelAll()
        }
    }

    @Test(
        "the service sends begin, then automatically pause and finish, by its clock",
        .proves("TYPE-11", "TYPE-12", "TYPE-28"),
        .timeLimit(.minutes(3)))
    func sends() async throws {
        try await run { scene in
            await scene.service.connectionRestored()
            await scene.service.sendTypingIndicator(.begin, in: chat)
            #expect(await scene.nextSent()?.action == .begin)
            scene.clock.advance(by: .seconds(10))
            #expect(await scene.nextSent()?.action == .pause)
            scene.clock.advance(by: .seconds(10))
            #expect(await scene.nextSent()?.action == .finish)
        }
    }

    @Test("the service wakes for a time earlier than the one it waits for", .proves("TYPE-28"), .timeLimit(.minutes(3)))
    func earlier() async throws {
        try await run { scene in
            await scene.service.connectionRestored()
            await scene.service.indicatorReceived(
                TypingIndicator(conversationID: chat, sender: ana, action: .begin), isKnown: true)
            #expect(await scene.nextPublished() == .begin)
            await scene.service.sendTypingIndicator(.begin, in: other)
            #expect(await scene.nextSent()?.action == .begin)
            scene.clock.advance(by: .seconds(10))
            #expect(await scene.nextSent()?.action == .pause)
            scene.clock.advance(by: .seconds(15))
            #expect(await scene.nextPublished() == .finish)
        }
    }

    @Test(
        "a queued signal is dropped when its typing ends", .proves("TYPE-22", "TYPE-23", "TYPE-29"),
        .timeLimit(.minutes(3)), arguments: 0..<4)
    func dropped(_ end: Int) async throws {
        try await run { service in
            await service.connectionRestored()
            await service.sendTypingIndicator(.begin, in: chat)
            switch end {
            case 0: await service.connectionLost()
            case 1: await service.messageSent(in: chat)
            case 2: await service.conversationGone(chat)
            default: await service.stop()
            }
            await service.sendTypingIndicator(.finish, in: chat)
            await service.connectionRestored()
            await service.sendTypingIndicator(.begin, in: other)
        } _: { scene in
            #expect(await scene.nextSent() == .init(action: .begin, conversationID: other))
        }
    }

    @Test("only the last queued signal of a conversation is sent", .proves("TYPE-10"), .timeLimit(.minutes(3)))
    func collapsed() async throws {
        try await run { service in
            await service.connectionRestored()
            for action in [TypingAction.begin, .pause, .begin, .pause] {
                await service.sendTypingIndicator(action, in: chat)
            }
            await service.sendTypingIndicator(.begin, in: other)
        } _: { scene in
            #expect(await scene.nextSent() == .init(action: .pause, conversationID: chat))
            #expect(await scene.nextSent() == .init(action: .begin, conversationID: other))
        }
    }

    @Test(
        "losing the connection or disconnecting removes all typists", .proves("TYPE-24"), .timeLimit(.minutes(3)),
        arguments: [true, false])
    func typistsGone(_ isLost: Bool) async throws {
        try await run { scene in
            await scene.service.indicatorReceived(
                TypingIndicator(conversationID: chat, sender: ana, action: .begin), isKnown: true)
            if isLost { await scene.service.connectionLost() } else { await scene.service.stop() }
            #expect(await scene.nextPublished() == .begin)
            #expect(await scene.nextPublished() == .finish)
        }
    }

    @Test("the service can run again after a cancellation", .timeLimit(.minutes(3)))
    func again() async throws {
        try await run { service in
            let first = Task { await service.run() }
            first.cancel()
            await first.value
            await service.connectionRestored()
            await service.sendTypingIndicator(.begin, in: chat)
        } _: { scene in
            #expect(await scene.nextSent()?.action == .begin)
        }
    }

    @Test(
        "a message, a leaving participant and a deleted conversation end typing", .proves("TYPE-22", "TYPE-24"),
        .timeLimit(.minutes(3)))
    func ends() async throws {
        try await run { scene in
            let user = UserID(trusted: "ana")
            for end in 0..<3 {
                await scene.service.indicatorReceived(
                    TypingIndicator(conversationID: chat, sender: ana, action: .begin), isKnown: true)
                switch end {
                case 0: await scene.service.messageArrived(from: user, in: chat)
                case 1: await scene.service.participantLeft(user, from: chat)
                default: await scene.service.conversationGone(chat)
                }
                #expect(await scene.nextPublished() == .begin)
                #expect(await scene.nextPublished() == .finish)
            }
        }
    }
}
