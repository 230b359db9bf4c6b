// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("schedule of pending changes")
struct OutgoingScheduleTests {
    private typealias Step = OutgoingSchedule.Step

    private let now = ContinuousClock.now
    private let chat = ConversationID.test(1)
    private let other = ConversationID.test(2)
    private var queue = OutgoingQueue()
    private var schedule = OutgoingSchedule()

    private mutating func add(_ change: LocalChange, in conversation: ConversationID? = .test(1)) -> UUID {
        queue.appendChange(change, in: conversation, id: UUID(), at: 0).id
    }
    private mutating func send(_ number: Int, in conversation: ConversationID = .test(1)) -> UUID {
        add(.sendMessage(StoreFixture.newMessage(.test(number))), in: conversation)
    }
    private mutating func patch(in conversation: ConversationID = .test(1)) -> UUID {
        add(.patchMetadata([StoreFixture.step("a", "b")]), in: conversation)
    }
    private mutating func next(hasSocket: Bool = true, at time: ContinuousClock.Instant? = nil) -> [Step] {
        schedule.nextSteps(for: queue, hasSocket: hasSocket, now: time ?? now)
    }
    private mutating func answer(_ id: UUID) {
        schedule.operationEnded(id)
        if let operation = queue[id] { queue.removeOperation(operation) }
    }

    @Test("creates are sent without waiting, each depending on the previous one", .proves("OFF-2"))
    mutating func creates() {
        let creation = add(.createConversation(StoreFixture.newConversation()))
        let messages = [send(1), send(2)]
        #expect(
            next() == [
                .send(creation, .socket(isOrdered: false)), .send(messages[0], .socket(isOrdered: true)),
                .send(messages[1], .socket(isOrdered: true)),
            ])
        #expect(next().isEmpty)
        let last = send(3)
        #expect(next() == [.send(last, .socket(isOrdered: true))])
        for id in [creation] + messages + [last] { answer(id) }
        let alone = send(4)
        #expect(next() == [.send(alone, .socket(isOrdered: false))])
    }

    @Test("other changes wait for all earlier ones, and later ones wait for them", .proves("OFF-2"))
    mutating func order() {
        let (first, change, second) = (send(1), patch(), send(2))
        #expect(next() == [.send(first, .socket(isOrdered: false))])
        answer(first)
        #expect(next() == [.send(change, .rest)])
        #expect(next().isEmpty)
        answer(change)
        #expect(next() == [.send(second, .socket(isOrdered: false))])
    }

    @Test("conversations do not wait for each other, and the oldest change goes first", .proves("OFF-2"))
    mutating func lanes() {
        let change = patch()
        _ = send(1)
        let message = send(2, in: other)
        #expect(next() == [.send(change, .rest), .send(message, .socket(isOrdered: false))])
    }

    @Test("no change follows a distinct creation before its answer", .proves("CONV-32"))
    mutating func distinct() {
        let creation = add(.createConversation(StoreFixture.newConversation(isDistinct: true)))
        let message = send(1)
        #expect(next() == [.send(creation, .socket(isOrdered: false))])
        #expect(next().isEmpty)
        answer(creation)
        #expect(next() == [.send(message, .socket(isOrdered: false))])
    }

    @Test("receipts bypass the queue, 4 at a time", .proves("OFF-3"))
    mutating func receipts() {
        _ = patch()
        let receipts = (1...6).map { add(.markRead([.test($0)])) }
        #expect(next().dropFirst() == receipts.prefix(4).map { .send($0, .rest) }[...])
        #expect(next().isEmpty)
        answer(receipts[2])
        #expect(next() == [.send(receipts[4], .rest)])
        let message = send(1, in: other)
        #expect(next() == [.send(message, .socket(isOrdered: false))])
    }

    @Test("the number of concurrent creates and requests is limited")
    mutating func limits() {
        for conversation in 1...6 { for number in 1...70 { _ = send(number, in: .test(conversation)) } }
        let creates = next()
        #expect(creates.count == OutgoingSchedule.allCreates)
        #expect(
            creates.prefix(64)
                .allSatisfy { step in if case .send(let id, _) = step { queue[id]?.conversation == chat } else { false }
                })
        #expect(
            !creates.dropFirst(64)
                .contains { step in if case .send(let id, _) = step { queue[id]?.conversation == chat } else { false } }
        )
        for conversation in 11...40 { _ = patch(in: .test(conversation)) }
        #expect(next().count == OutgoingSchedule.requests)
    }

    @Test("a message waits for its uploads, and later changes wait for the message", .proves("OFF-2"))
    mutating func uploads() {
        var message = StoreFixture.newMessage(.test(1))
        message.parts[0].body = nil
        let upload = add(.sendMessage(message))
        _ = send(2)
        #expect(next() == [.upload(upload)])
        #expect(next().isEmpty)
    }

    @Test("a failure pauses its own lane only", .proves("OFF-5"))
    mutating func rest() {
        let (mine, theirs) = (send(1), send(2, in: other))
        _ = next()
        schedule.operationEnded(mine)
        schedule.operationEnded(theirs)
        schedule.suspend(.conversation(chat), until: now + 5)
        #expect(schedule.nextRetry == now + 5)
        #expect(next(at: now + 4) == [.send(theirs, .socket(isOrdered: false))])
        #expect(next(at: now + 5) == [.send(mine, .socket(isOrdered: false))])
        #expect(schedule.nextRetry == nil)
    }

    @Test("a failed receipt pauses alone", .proves("OFF-3"))
    mutating func receiptRests() throws {
        let (first, second) = (add(.markRead([.test(1)])), add(.markRead([.test(2)])))
        _ = next()
        schedule.operationEnded(first)
        schedule.operationEnded(second)
        schedule.suspend(OutgoingSchedule.lane(of: try #require(queue[first])), until: now + 5)
        #expect(next() == [.send(second, .rest)])
    }

    @Test(
        "a failed create waits for the answers of later creates, so that none overtakes another",
        .proves("OFF-2", "MSG-5"))
    mutating func failedCreate() {
        let messages = [send(1), send(2), send(3)]
        _ = next()
        schedule.operationEnded(messages[0])
        #expect(next().isEmpty)
        schedule.operationEnded(messages[1])
        #expect(next().isEmpty)
        schedule.operationEnded(messages[2])
        #expect(
            next() == [
                .send(messages[0], .socket(isOrdered: false)), .send(messages[1], .socket(isOrdered: true)),
                .send(messages[2], .socket(isOrdered: true)),
            ])
    }

    @Test("after the loss of the socket creates are sent again in order, and requests still await their answers")
    mutating func socketLost() {
        let messages = [send(1), send(2)]
        _ = patch(in: other)
        _ = next()
        schedule.suspend(.people, until: now + 5)
        schedule.socketLost()
        #expect(next(hasSocket: false).isEmpty)
        schedule.connected()
        #expect(schedule.nextRetry == nil)
        #expect(
            next() == [.send(messages[0], .socket(isOrdered: false)), .send(messages[1], .socket(isOrdered: true))])
    }

    @Test("drafts, answered and refused changes are not sent")
    mutating func over() {
        for state in [QueuedOperation.State.draft, .answered(.init()), .failed(StoredError(StrataError(.unknown, "")))]
        {
            _ = queue.appendChange(
                .sendMessage(StoreFixture.newMessage(.test(1))), in: chat, id: UUID(), at: 0, state: state)
        }
        #expect(next().isEmpty)
    }

    @Test("follows do not wait for changes in conversations")
    mutating func people() {
        _ = patch()
        let follow = [add(.follow([WireJSON.cleo]), in: nil), add(.unfollow([WireJSON.cleo]), in: nil)]
        #expect(next().first == .send(follow[0], .rest))
        #expect(next().isEmpty)
        answer(follow[0])
        #expect(next() == [.send(follow[1], .rest)])
    }
}
