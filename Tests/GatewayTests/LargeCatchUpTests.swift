// SPDX-License-Identifier: Apache-2.0
import Contracts
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway
@testable import Sync

/// Catch-ups with conversations that are large, or too large to be sent.
@Suite(.timeLimit(.minutes(2)))
struct LargeCatchUpTests {
    /// Returns the conversations that were sent as a whole, in order.
    private func shown(_ packets: [JSONValue]) -> [String] {
        packets.filter { $0["body"]?["operation"]?.stringValue == "create" }
            .compactMap { $0["body"]?["object"]?["id"]?.stringValue }
    }

    /// Waits until the current catch-up has ended and a retry is scheduled.
    private func rests(_ ben: TestSocket, _ harness: GatewayHarness) async throws {
        try await harness.until { _ in ben.socket.catchUps.task == nil && ben.socket.catchUps.nextRetry != nil }
    }

    @Test("a conversation that cannot be shown blocks no other, and is retried with growing delays until it can be")
    func unshowable() async throws {
        try await FakeConversations.run { harness, fake in
            let large = ConversationID.random()
            let isSmall = Flag()
            fake.setPendingChanges([(Fixture.conversation, 4, 2), (large, 1, 0)])
            fake.answers.withLock {
                $0.tree = { id in id == large && !isSmall.isSet ? nil : ([], 0) }
            }
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            try await rests(ben, harness)
            let packets = try await ben.packets()
            #expect(packets.last?["body"]?["success"]?.boolValue == true)
            #expect(packets.compactMap { $0["body"]?["position"]?.integerValue } == [3, 4])
            #expect(shown(packets) == [])
            let conversations = try await harness.onLoop { _ in ben.socket.registration.conversations.map(\.id) }
            #expect(conversations == [Fixture.conversation])
            #expect(fake.viewRequestCount(of: large) == 1)
            try await harness.publish(Fixture.change(5))
            #expect(try await ben.positions() == [5])

            for look in 0..<9 {
                let pause = min(CatchUpTiming.longestRetryPause, CatchUpTiming.firstRetryPause * (1 << look))
                await harness.loop.advanceTime(by: .nanoseconds(pause.nanoseconds / 100 * 74))
                let isResting = try await harness.onLoop { _ in ben.socket.catchUps.task == nil }
                #expect(isResting)
                #expect(fake.viewRequestCount(of: large) == look + 1)
                await harness.loop.advanceTime(by: .nanoseconds(pause.nanoseconds / 100 * 52))
                try await harness.until { _ in fake.viewRequestCount(of: large) == look + 2 }
                try await rests(ben, harness)
            }
            #expect(shown(try await ben.packets()) == [])

            isSmall.set()
            await harness.loop.advanceTime(by: .nanoseconds(CatchUpTiming.longestRetryPause.nanoseconds / 100 * 126))
            try await harness.until { _ in
                ben.socket.registration.conversations.count == 2 && ben.socket.catchUps.task == nil
            }
            #expect(shown(try await ben.packets()) == [large.layerID])
            let isOver = try await harness.onLoop { _ in ben.socket.catchUps.nextRetry == nil }
            #expect(isOver)
            // From here on, the conversation is treated like any other.
            try await harness.publish(Fixture.change(2, of: large))
            #expect(try await ben.positions() == [2])
        }
    }

    @Test("a repeated addition to a conversation that cannot be shown triggers an immediate retry")
    func toldAgain() async throws {
        try await FakeConversations.run { harness, fake in
            let large = ConversationID.random()
            fake.setPendingChanges([(large, 1, 0)])
            fake.answers.withLock { $0.baseline = { .with { $0.complete = true } } }
            fake.answers.withLock { $0.tree = { _ in nil } }
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.ask("Counter.read")
            try await harness.until { _ in ben.isLive }
            for _ in 0..<5 {
                try await harness.onLoop { _ in ben.socket.wasAdded(to: large, at: Position(1)) }
                try await rests(ben, harness)
                #expect(fake.viewRequestCount(of: large) == 1)
            }
            // A further addition triggers a new attempt.
            fake.setPendingChanges([(large, 3, 0)])
            try await harness.onLoop { _ in ben.socket.wasAdded(to: large, at: Position(3)) }
            try await harness.until { _ in fake.viewRequestCount(of: large) == 2 }
            try await rests(ben, harness)
        }
    }

    @Test("large conversations are loaded in batches, the next one after the client has read the previous one")
    func batches() async throws {
        try await FakeConversations.run { harness, fake in
            let ids = (0..<6).map { _ in ConversationID.random() }
            fake.setPendingChanges(ids.map { ($0, 1, 0) })
            fake.answers.withLock {
                $0.tree = { _ in ([MetadataLeaf(path: MetadataPath(trusted: "a"), value: "1")], 700_000) }
            }
            let ben = try await harness.newSocket(of: Fixture.ben)
            ben.channel.isWritable = false
            try await ben.askForReplay()
            try await harness.until { _ in ben.socket.outbox.hasDrainWaiters }
            // Nothing has been sent, so nothing more is fetched.
            #expect(fake.answers.withLock { $0.viewRequests } == [ids[0]])
            try await harness.onLoop { _ in
                ben.channel.isWritable = true
                ben.channel.pipeline.fireChannelWritabilityChanged()
            }
            try await harness.until { _ in ben.socket.requests.replay == nil }
            #expect(shown(try await ben.packets()) == ids.map(\.layerID))
            #expect(fake.answers.withLock { $0.viewRequests } == ids)
        }
    }

    @Test("a page has at least as many changes as the logs it reads", arguments: [50, 300])
    func pageSizes(logs: Int) async throws {
        try await FakeConversations.run { harness, fake in
            fake.setPendingChanges((0..<logs).map { _ in (ConversationID.random(), 4, 3) })
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            try await harness.until { _ in ben.socket.requests.replay == nil }
            let first = try #require(fake.answers.withLock { $0.pageSizes.first })
            #expect(first == (logs, max(logs, 128)))
        }
    }

    @Test("small conversations are loaded together")
    func together() async throws {
        try await FakeConversations.run { harness, fake in
            let ids = (0..<50).map { _ in ConversationID.random() }
            fake.setPendingChanges(ids.map { ($0, 1, 0) })
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            try await harness.until { _ in ben.socket.requests.replay == nil }
            #expect(shown(try await ben.packets()) == ids.map(\.layerID))
            #expect(fake.answers.withLock { $0.viewRequests } == [ids[0]])
        }
    }

    @Test("an own log entry for which a service fails at first is sent once")
    func failsForUser() async throws {
        try await FakeConversations.run { harness, fake in
            let id = Fixture.conversation
            fake.setPendingChanges([(id, 4, 4)])
            let (baseline, page) = fake.answers.withLock { ($0.baseline, $0.page) }
            let failures = Mutex(1)
            fake.answers.withLock { answers in
                answers.baseline = {
                    var baseline = try baseline()
                    baseline.userPosition = 1
                    return baseline
                }
                answers.page = { request in
                    var page = try await page(request)
                    if request.hasUserAfter, request.userAfter == 0 {
                        let hidden = UserChange(
                            appID: Fixture.app, user: Fixture.ben, position: Position(1), createdAt: Fixture.time(1),
                            content: .conversationHidden(id, upTo: Position(2), wholly: false))
                        page.entries.append(.with { $0.userChange = ProtoUserChange(hidden) })
                    }
                    return page
                }
                answers.tree = { _ in
                    let fails = failures.withLock { left in
                        left -= 1
                        return left >= 0
                    }
                    if fails { throw Failure.unavailable }
                    return ([], 0)
                }
            }
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.ask("Counter.read")
            try await harness.until { _ in ben.isLive }
            #expect(failures.withLock { $0 } < 0)
            let packets = try await ben.packets()
            #expect(packets.filter { $0["body"]?["operation"]?.stringValue == "delete" }.count == 1)
            #expect(shown(packets) == [id.layerID])
        }
    }

    @Test("a service failure in the middle of a page neither omits nor repeats a change")
    func fails() async throws {
        try await FakeConversations.run { harness, fake in
            let ids = (0..<5).map { _ in ConversationID.random() }
            fake.setPendingChanges(ids.map { ($0, 3, 0) })
            // One failure hits the second conversation of a batch, which ends there, and one hits the first.
            let failures = Mutex(2)
            fake.answers.withLock { answers in
                answers.tree = { id in
                    let fails =
                        id == ids[3]
                        && failures.withLock { left in
                            left -= 1
                            return left >= 0
                        }
                    if fails { throw Failure.unavailable }
                    return ([], 700_000)
                }
            }
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.ask("Counter.read")
            try await harness.until { _ in ben.isLive }
            #expect(failures.withLock { $0 } < 0)
            #expect(shown(try await ben.packets()) == ids.map(\.layerID))
        }
    }
}
