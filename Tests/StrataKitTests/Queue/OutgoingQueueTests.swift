// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("the queue of pending changes")
struct OutgoingQueueTests {
    private let chat = ConversationID.test(1)
    private var queue = OutgoingQueue()

    private mutating func add(_ change: LocalChange, in conversation: ConversationID? = .test(1)) -> QueuedOperation {
        queue.appendChange(change, in: conversation, id: UUID(), at: 0)
    }

    @Test("changes are found by conversation, message and id, in order")
    mutating func finding() {
        let send = add(.sendMessage(StoreFixture.newMessage(.test(1))))
        let other = add(.markRead([.test(1), .test(2)]), in: .test(2))
        let read = add(.markRead([.test(1), .test(2)]))
        let deletion = add(.deleteConversation(.myDevices, upTo: 1, leaves: false))
        let follow = add(.follow([WireJSON.cleo]), in: nil)
        #expect(queue.all == [send, other, read, deletion, follow])
        #expect(queue.operations(in: chat) == [send, read, deletion])
        #expect(queue.operations(on: .test(2), in: chat) == [other, read, deletion])
        #expect(queue.operations(on: .test(9), in: chat) == [deletion])
        #expect(queue.withoutConversation == [follow] && queue[read.id] == read)
        #expect(Set(queue.conversations) == [chat, .test(2)])
    }

    @Test("a change that moves to another conversation is found there, in order")
    mutating func moving() {
        let first = add(.patchMetadata([]), in: .test(2))
        var moved = add(.sendMessage(StoreFixture.newMessage(.test(1))))
        let last = add(.patchMetadata([]), in: .test(2))
        moved.conversation = .test(2)
        queue.updateOperation(moved)
        #expect(queue.operations(in: .test(2)) == [first, moved, last])
        #expect(!queue.hasOperations(in: chat))
    }

    @Test("each difference from the store is listed once")
    mutating func unsaved() {
        let first = add(.patchMetadata([]))
        let second = add(.patchMetadata([]))
        #expect(queue.takeUnsaved() == [first.sequence, second.sequence])
        queue.updateOperation(first)
        #expect(queue.takeUnsaved().isEmpty)
        queue.removeOperation(second)
        #expect(queue.takeUnsaved() == [second.sequence])
        #expect(queue.takeUnsaved().isEmpty)
    }

    @Test("sequence numbers are never reused, even of removed changes", .proves("MSG-5"))
    mutating func sequences() {
        let operation = add(.patchMetadata([]))
        queue.removeOperation(operation)
        #expect(add(.patchMetadata([])).sequence > operation.sequence)
        var reopened = OutgoingQueue([], lastSequence: 40)
        #expect(reopened.appendChange(.patchMetadata([]), in: chat, id: UUID(), at: 0).sequence == 41)
    }

    @Test("a change takes a free sequence number, never that of another")
    mutating func places() {
        let (first, second) = (add(.patchMetadata([])), add(.patchMetadata([])))
        queue.removeOperation(first)
        queue.insertChange(.follow([]), in: chat, id: UUID(), at: 0, sequence: first.sequence)
        queue.insertChange(.unfollow([]), in: chat, id: UUID(), at: 0, sequence: second.sequence)
        #expect(queue.operations(in: chat).map(\.change) == [.follow([]), .patchMetadata([])])
    }
}
