// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

@testable import Gateway

@Suite("the requests of one socket")
struct RequestQueueTests {
    private func queue(requests: Int = 3, bytes: Int = 100) -> RequestQueue {
        RequestQueue(limits: RequestQueue.Limits(requests: requests, bytes: bytes))
    }

    private func create(_ queue: inout RequestQueue, bytes: Int = 10) -> SocketRequest {
        queue.numbered(
            ClientPacket.Request(id: "r", method: "Conversation.create"), frame: ByteBuffer(repeating: 0, count: bytes))
    }

    private func isAdmittedNow(_ queue: inout RequestQueue) -> Bool {
        let request = create(&queue)
        return queue.admits(request)
    }

    @Test(
        "a single request of any size is accepted; concurrent requests are limited in number and bytes"
    )
    func room() {
        var queue = queue()
        let first = create(&queue, bytes: 500)
        #expect(first.number == 1)
        let isAdmitted = queue.admits(first)
        queue.append(create: first)
        let second = create(&queue)
        let isTooMuch = !queue.admits(second)
        #expect(isAdmitted && isTooMuch)
        let growth = queue.takeBytesGrowth()
        #expect(growth == 500)
        _ = queue.nextCreate()
        _ = queue.serviceAnswered(create: first)
        queue.ended(create: first, succeeded: true)
        let less = queue.takeBytesGrowth()
        #expect(less == -500)
        for _ in 0..<2 {
            let request = create(&queue)
            queue.append(create: request)
        }
        let presence = create(&queue)
        let isThird = queue.admits(presence)
        queue.began(inOrder: presence)
        let isFourth = isAdmittedNow(&queue)
        #expect(isThird && !isFourth && queue.isWorkingInOrder)
        queue.ended(inOrder: presence)
        let isAgain = isAdmittedNow(&queue)
        #expect(isAgain && !queue.isWorkingInOrder)
    }

    @Test("a create is answered once, by the change or by the service, whichever is faster")
    func answers() {
        var queue = queue()
        let request = create(&queue)
        queue.append(create: request)
        #expect(!queue.isCreatingConversation)
        _ = queue.nextCreate()
        #expect(queue.isCreatingConversation && queue.answerable(1)?.number == 1)
        queue.answered(1)
        #expect(!queue.isCreatingConversation)
        let isAnswered = queue.serviceAnswered(create: request)
        #expect(isAnswered)
        queue.ended(create: request, succeeded: true)
        let other = create(&queue)
        queue.append(create: other)
        _ = queue.nextCreate()
        let isAnsweredByChange = queue.serviceAnswered(create: other)
        #expect(!isAnsweredByChange && queue.answerable(2) == nil)
    }

    @Test("a replay replaces the previous one, which is answered too")
    func replays() {
        var queue = queue()
        let (first, second) = (create(&queue), create(&queue))
        let before = [queue.begin(replay: first)?.number, queue.begin(replay: second)?.number]
        #expect(before == [nil, 1])
        let taken = [queue.takeReplay()?.number, queue.takeReplay()?.number]
        #expect(taken == [2, nil])
    }

    @Test(
        "typing signals are limited, and a catch-up keeps the last signal of each conversation")
    func typing() {
        var queue = queue()
        let begun = (0..<9).map { _ in queue.beginTyping(at: .uptimeNanoseconds(1)) }
        #expect(begun == Array(repeating: true, count: 8) + [false])
        queue.typingEnded()
        let isAgain = queue.beginTyping(at: .uptimeNanoseconds(1))
        #expect(isAgain)
        let ids = (0..<9).map { _ in ConversationID.random() }
        for id in ids { queue.hold(.started, in: id) }
        queue.hold(.finished, in: ids[0])
        let held = queue.takeHeldTyping()
        #expect(held.count == 8 && held[ids[0]] == .finished && held[ids[8]] == nil)
        let rest = queue.takeHeldTyping()
        #expect(rest.isEmpty)
    }

    @Test(
        "closing a socket releases its queued requests at once and running ones when they end"
    )
    func end() {
        var queue = queue()
        let (running, waiting) = (create(&queue), create(&queue))
        queue.append(create: running)
        queue.append(create: waiting)
        _ = queue.nextCreate()
        let growth = queue.takeBytesGrowth()
        queue.removeAll()
        let atEnd = queue.takeBytesGrowth()
        _ = queue.serviceAnswered(create: running)
        let after = queue.takeBytesGrowth()
        #expect([growth, atEnd, after] == [20, -10, -10])
        let released = queue.takeReleasedBytes()
        #expect(released == running.heldBytes + waiting.heldBytes)
    }
}
