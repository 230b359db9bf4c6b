// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
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

/// Catch-ups whose services fail or have more changes than one catch-up can send.
@Suite(.timeLimit(.minutes(2)))
struct CatchUpTests {
    @Test("a socket whose client does not repeat a failed replay is closed with a reconnect code")
    func rests() async throws {
        try await FakeConversations.run { harness, fake in
            fake.answers.withLock { $0.baseline = { throw Failure.unavailable } }
            let ana = try await harness.newSocket(of: Fixture.ana)
            try await ana.askForReplay()
            try await harness.until { _ in ana.socket.requests.replay == nil }
            let answer = try #require(try await ana.packets().last)
            #expect(answer["body"]?["success"]?.boolValue == false)
            await harness.loop.advanceTime(by: CatchUpTiming.replayPatience - .milliseconds(1))
            #expect(try await ana.closeCode() == nil)
            await harness.loop.advanceTime(by: .milliseconds(1))
            #expect(try await ana.closeCode() == 1013)
        }
    }

    @Test("a client that repeats its request in time stays, and its replay succeeds when the service is back")
    func asksAgain() async throws {
        try await FakeConversations.run { harness, fake in
            fake.answers.withLock { $0.baseline = { throw Failure.unavailable } }
            let ana = try await harness.newSocket(of: Fixture.ana)
            try await ana.askForReplay()
            try await harness.until { _ in ana.socket.requests.replay == nil }
            // A malformed replay request is refused and does not discard the pending catch-up.
            try await ana.ask("Event.replay", "r2")
            let isResting = try await harness.onLoop { _ in ana.socket.catchUps.task == nil }
            #expect(isResting)
            fake.answers.withLock { $0.baseline = { .with { $0.complete = true } } }
            try await ana.askForReplay("r3")
            try await harness.until { _ in ana.socket.requests.replay == nil }
            let answers = try await ana.packets().map { $0["body"]?["success"]?.boolValue }
            #expect(answers == [false, false, true])
            await harness.loop.advanceTime(by: CatchUpTiming.replayPatience)
            #expect(try await ana.closeCode() == nil)
            let isLive = try await harness.onLoop { _ in ana.isLive }
            #expect(isLive)
        }
    }

    @Test("a first catch-up retries until its service is available")
    func opened() async throws {
        try await FakeConversations.run { harness, fake in
            fake.answers.withLock { $0.baseline = { throw Failure.unavailable } }
            let ana = try await harness.newSocket(of: Fixture.ana)
            try await ana.ask("Counter.read")
            for tries in 1...3 {
                try await harness.until { _ in ana.socket.catchUps.task == nil }
                let baselines = fake.answers.withLock { $0.baselines }
                #expect(baselines == tries)
                await harness.loop.advanceTime(by: .seconds(1))
            }
            fake.answers.withLock { $0.baseline = { .with { $0.complete = true } } }
            while try await !harness.onLoop({ _ in ana.isLive }) {
                await harness.loop.advanceTime(by: .seconds(1))
                await Task.yield()
            }
            #expect(try await ana.closeCode() != 1013)
        }
    }

    @Test("a failed replay does not resume an older catch-up, which would send less and show later times")
    func notInPlaceOfReplay() async throws {
        try await FakeConversations.run { harness, fake in
            fake.answers.withLock { $0.baseline = { throw Failure.unavailable } }
            let ana = try await harness.newSocket(of: Fixture.ana)
            try await ana.ask("Counter.read")
            try await harness.until { _ in ana.socket.catchUps.task == nil }
            try await ana.askForReplay()
            try await harness.until { _ in ana.socket.requests.replay == nil && ana.socket.catchUps.task == nil }
            fake.answers.withLock { $0.baseline = { .with { $0.complete = true } } }
            await harness.loop.advanceTime(by: .seconds(1))
            let isResting = try await harness.onLoop { _ in ana.socket.catchUps.task == nil && !ana.isLive }
            #expect(isResting)
            #expect(fake.answers.withLock { $0.baselines } == 2)
            await harness.loop.advanceTime(by: CatchUpTiming.replayPatience)
            #expect(try await ana.closeCode() == 1013)
        }
    }

    /// Puts Ben into the fixture's conversation at position 4, with changes 3 and 4 not yet sent.
    private func addPendingChanges(to fake: FakeConversations) {
        fake.answers.withLock { answers in
            answers.baseline = {
                .with {
                    $0.complete = true
                    $0.entries = [
                        .with {
                            $0.conversationID = Data(Fixture.conversation)
                            $0.position = 4
                            $0.after = 2
                            $0.isParticipant = true
                        }
                    ]
                }
            }
            answers.page = { request in
                .with { page in
                    page.reachesHeads = true
                    for position in (request.cursors.first?.after ?? 4)..<4 {
                        page.entries.append(.with { $0.change = ProtoChange(Fixture.change(position + 1)) })
                    }
                    page.numbers = [
                        .with {
                            $0.conversationID = Data(Fixture.conversation)
                            $0.isParticipant = true
                            $0.isListed = true
                        }
                    ]
                }
            }
        }
    }

    @Test("a conversation that is not on the user's list is attached as hidden, even if an older service lists it")
    func olderService() async throws {
        try await FakeConversations.run { harness, fake in
            addPendingChanges(to: fake)
            fake.answers.withLock { answers in
                answers.isOld = true
                let baseline = answers.baseline
                answers.baseline = {
                    var answer = try baseline()
                    answer.asOf = 1
                    answer.entries[0].after = answer.entries[0].position
                    return answer
                }
                let page = answers.page
                answers.page = { request in
                    var answer = try await page(request)
                    answer.numbers[0].isListed = false
                    return answer
                }
            }
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            try await harness.until { _ in ben.socket.requests.replay == nil }
            let members = try await harness.onLoop { $0.registry.conversations[Fixture.conversation]?.members }
            #expect(members?.map(\.isHidden) == [true])
        }
    }

    @Test("pending loop work of a replaced catch-up has no effect", arguments: [true, false])
    func replaced(isReplaced: Bool) async throws {
        try await FakeConversations.run { harness, fake in
            addPendingChanges(to: fake)
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            let running = try await harness.onLoop { _ in ben.socket.catchUps.task }
            let task = try #require(running)
            // Replace the catch-up without cancelling it, as if every step had been pending at that moment.
            if isReplaced { try await harness.onLoop { _ in ben.socket.replaceCatchUp() } }
            let hasEnded = Flag()
            let wait = Task {
                await task.value
                hasEnded.set()
            }
            try await harness.until { _ in hasEnded.isSet }
            await wait.value
            await harness.loop.run()
            #expect(try await ben.positions() == (isReplaced ? [] : [3, 4]))
            let conversations = try await harness.onLoop { _ in ben.socket.registration.conversations.count }
            #expect(conversations == (isReplaced ? 0 : 1))
            let userPosition = try await harness.onLoop { _ in ben.socket.registration.userPosition }
            #expect(userPosition == (isReplaced ? nil : Position.zero))
            // The catch-up has released the conversations that it had kept subscribed.
            let joining = try await harness.onLoop { $0.registry.conversations.values.map(\.joining) }
            #expect(joining == (isReplaced ? [] : [0]))
        }
    }

    @Test(
        "the answer to a replay has the epoch of the database, if the service returns it",
        arguments: ["", "0660db668cf3ee0000000001"])
    func epoch(_ epoch: String) async throws {
        try await FakeConversations.run { harness, fake in
            fake.answers.withLock {
                $0.baseline = {
                    .with {
                        $0.complete = true
                        $0.epoch = epoch
                    }
                }
            }
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            try await harness.until { _ in ben.isLive }
            let answer = try await ben.packets().last?["body"]?["data"]
            #expect(answer?["complete"]?.boolValue == true)
            #expect(answer?["epoch"]?.stringValue == (epoch.isEmpty ? nil : epoch))
        }
    }

    @Test("the answer to a replay has no later time than the work queued behind it allows")
    func joinsBehind() async throws {
        try await FakeConversations.run { harness, fake in
            addPendingChanges(to: fake)
            let isAsked = Flag()
            let isReleased = Flag()
            let page = fake.answers.withLock { $0.page }
            let slowPage: @Sendable (ProtoReadLogsRequest) async throws -> ProtoReadLogsResponse = { request in
                isAsked.set()
                while !isReleased.isSet { await Task.yield() }
                return try await page(request)
            }
            // Conversations remain pending while they are being looked up.
            let isJudged = Flag()
            fake.answers.withLock {
                $0.page = slowPage
                $0.views = { while !isJudged.isSet, !Task.isCancelled { await Task.yield() } }
            }
            defer { isJudged.set() }
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            try await harness.until { _ in isAsked.isSet }
            // The user is added to a conversation after the baseline was read, and the replay continues for long.
            let shown = try await harness.onLoop { _ in
                ben.socket.wasAdded(to: ConversationID.random(), at: Position(1))
                return max(ben.socket.outbox.lastStamp, ben.socket.beginning)
            }
            try await Task.sleep(for: .milliseconds(2))
            isReleased.set()
            try await harness.until { _ in ben.socket.requests.replay == nil }
            let answered = try await harness.onLoop { _ in ben.socket.outbox.sequence.lastStamp }
            #expect(answered <= shown)
        }
    }

    @Test(
        "a catch-up with too many changes ends with a code that makes the client reconnect for the rest",
        arguments: [true, false])
    func tooMuch(isReplay: Bool) async throws {
        try await FakeConversations.run { harness, fake in
            let begin = Timestamp.now().advanced(by: .seconds(-2 * CatchUp.maximumReads))
            fake.answers.withLock { answers in
                answers.baseline = {
                    .with {
                        $0.complete = true
                        $0.userPosition = 1 << 40
                    }
                }
                answers.page = { request in
                    .with { page in
                        page.entries = [
                            .with {
                                $0.userChange = ProtoUserChange(
                                    UserChange(
                                        appID: Fixture.app, user: Fixture.ana,
                                        position: Position(request.userAfter + 1),
                                        createdAt: begin.advanced(by: .seconds(request.userAfter)),
                                        content: .unfollowed(Fixture.ben)))
                            }
                        ]
                    }
                }
            }
            let ana = try await harness.newSocket(of: Fixture.ana)
            if isReplay { try await ana.askForReplay() } else { try await ana.ask("Counter.read") }
            try await harness.until { _ in ana.socket.isClosing }
            let pages = fake.answers.withLock { $0.pages }
            #expect(pages == CatchUp.maximumReads)
            // The packets sent have advanced the time from which the client replays.
            let shown = try await harness.onLoop { _ in ana.socket.outbox.sequence.lastStamp }
            #expect(shown >= begin.advanced(by: .seconds(CatchUp.maximumReads - 1)))
            #expect(try await ana.closeCode() == 1013)
        }
    }
}
