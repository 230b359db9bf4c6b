// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway

/// The fate of a socket's queued creates after one has failed.
struct CreateQueueTests {
    private static let here = ConversationID.random()
    private static let elsewhere = ConversationID.random()

    private func message(
        _ number: UInt64, in conversation: ConversationID = here, ordered: JSONValue? = nil
    ) -> SocketRequest {
        let data = JSONValue.object(
            [JSONValue.Member("parts", value: .array([]))]
                + (ordered.map { [JSONValue.Member("ordered", value: $0)] } ?? []))
        return SocketRequest(
            number: number,
            packet: .init(
                id: "r\(number)", method: "Message.create", objectID: "layer:///conversations/\(conversation.rawValue)",
                outline: data))
    }

    private func conversation(_ number: UInt64, _ id: ConversationID? = here) -> SocketRequest {
        let id = id.map { [JSONValue.Member("id", value: .string("layer:///conversations/\($0.rawValue)"))] } ?? []
        return SocketRequest(
            number: number, packet: .init(id: "r\(number)", method: "Conversation.create", outline: .object(id)))
    }

    /// Drains the queue and returns each create's fate: "5" is carried out, "5-" is refused because another one failed,
    /// "5!" is refused for another reason. The creates in `failing` fail.
    private func drain(_ queue: inout CreateQueue, failing: Set<UInt64> = []) -> [String] {
        var story: [String] = []
        while let step = queue.next() {
            switch step {
            case .run(let request):
                story.append("\(request.number)")
                queue.ended(request, succeeded: !failing.contains(request.number))
            case .refuse(let request, let failure):
                story.append("\(request.number)" + (failure.code == .predecessorFailed ? "-" : "!"))
            }
        }
        return story
    }

    @Test("a queue runs creates sequentially, one at a time")
    func order() {
        var queue = CreateQueue()
        queue.append(message(1))
        queue.append(message(2))
        guard case .run(let first)? = queue.next() else {
            Issue.record("nothing to do")
            return
        }
        #expect(first.number == 1 && queue.isRunning && queue.waiting == 1)
        if case _? = queue.next() { Issue.record("two at once") }
        queue.ended(first, succeeded: true)
        #expect(drain(&queue) == ["2"])
    }

    @Test("a create that depends on a failed one gets that create's id, also after an earlier failure")
    func names() {
        var queue = CreateQueue()
        queue.append(message(1))
        queue.append(message(2))
        queue.append(message(3, ordered: .bool(true)))
        queue.append(message(4, ordered: .bool(true)))
        var named: [String] = []
        while let step = queue.next() {
            switch step {
            case .run(let request): queue.ended(request, succeeded: false)
            case .refuse(_, let failure): if case .predecessor(let id) = failure.detail { named.append(id) }
            }
        }
        #expect(named == ["r2", "r2"])
    }

    @Test("ordered creates behind a failed one fail until an unordered one; other conversations continue")
    func chain() {
        var queue = CreateQueue()
        queue.append(message(1))
        queue.append(message(2, ordered: .bool(true)))
        queue.append(message(3, in: Self.elsewhere, ordered: .bool(true)))
        queue.append(message(4, ordered: .bool(true)))
        queue.append(message(5, ordered: .bool(false)))
        queue.append(message(6, ordered: .bool(true)))
        #expect(drain(&queue, failing: [1]) == ["1", "2-", "3", "4-", "5", "6"])
        queue.append(message(7, ordered: .bool(true)))
        #expect(drain(&queue, failing: [7]) == ["7"])
        queue.append(message(8, ordered: .bool(true)))
        queue.append(message(9))
        queue.append(message(10, ordered: .bool(true)))
        #expect(drain(&queue, failing: [9]) == ["8-", "9", "10-"])
    }

    @Test("the failure names the first failed create")
    func name() throws {
        var queue = CreateQueue()
        for number in 1...3 as ClosedRange<UInt64> { queue.append(message(number, ordered: .bool(true))) }
        guard case .run(let first)? = queue.next() else {
            Issue.record("nothing to do")
            return
        }
        queue.ended(first, succeeded: false)
        for number in 2...3 as ClosedRange<UInt64> {
            guard case .refuse(let request, let failure)? = queue.next() else {
                Issue.record("carried out")
                return
            }
            #expect(request.number == number)
            #expect(
                failure.code == .predecessorFailed && failure.detail == .predecessor("r1")
                    && failure.message.contains("r1"))
        }
    }

    @Test("the first message in a new conversation depends on the conversation's create")
    func conversations() {
        var queue = CreateQueue()
        queue.append(conversation(1))
        queue.append(message(2, ordered: .bool(true)))
        queue.append(conversation(3))
        queue.append(message(4, ordered: .bool(true)))
        queue.append(conversation(5, nil))
        queue.append(message(6, ordered: .bool(true)))
        #expect(drain(&queue, failing: [1, 5]) == ["1", "2-", "3", "4", "5", "6"])
    }

    @Test("a create refused on arrival counts at its place in the order")
    func refused() {
        var queue = CreateQueue()
        queue.append(message(1))
        queue.append(message(2, ordered: .bool(true)))
        queue.refused(message(3, ordered: .bool(true)))
        queue.refused(message(4))
        queue.append(message(5, ordered: .bool(true)))
        queue.append(message(6))
        queue.append(message(7, ordered: .bool(true)))
        #expect(queue.waiting == 5)
        #expect(drain(&queue) == ["1", "2", "5-", "6", "7"])
        // The queue is empty.
        queue.refused(message(8))
        queue.append(message(9, ordered: .bool(true)))
        #expect(drain(&queue) == ["9-"])
    }

    @Test("an ordered value that is no boolean is refused by name and counts as failed")
    func malformed() {
        for value in [JSONValue.string("true"), .integer(1), .array([])] {
            var queue = CreateQueue()
            queue.append(message(1, ordered: value))
            queue.append(message(2, ordered: .bool(true)))
            guard case .refuse(_, let failure)? = queue.next() else {
                Issue.record("carried out")
                return
            }
            #expect(failure.code == .invalidProperty && failure.detail == .property("ordered"))
            #expect(drain(&queue) == ["2-"])
        }
        var queue = CreateQueue()
        queue.append(message(1, ordered: .null))
        #expect(drain(&queue) == ["1"])
    }

    @Test("beyond the recorded failures, no ordered create runs that may depend on a failed one")
    func bound() {
        var queue = CreateQueue()
        let conversations = (0...FailedCreates.limit).map { _ in ConversationID.random() }
        var number: UInt64 = 0
        for conversation in conversations {
            number += 1
            queue.append(message(number, in: conversation))
        }
        #expect(drain(&queue, failing: Set(1...number)).count == conversations.count)
        for conversation in conversations + [Self.elsewhere] {
            number += 1
            queue.append(message(number, in: conversation, ordered: .bool(true)))
        }
        #expect(drain(&queue).allSatisfy { $0.hasSuffix("-") })
        // A create without `ordered` resets the failure, also in these conversations.
        for conversation in [conversations[FailedCreates.limit], conversations[0], Self.elsewhere] {
            queue.append(message(number + 1, in: conversation))
            queue.append(message(number + 2, in: conversation, ordered: .bool(true)))
            #expect(drain(&queue) == ["\(number + 1)", "\(number + 2)"])
            number += 2
        }
        // Repeat this for creates that were refused on arrival, while another one was running.
        var busy = CreateQueue()
        busy.append(message(1))
        guard case .run(let running)? = busy.next() else {
            Issue.record("nothing to do")
            return
        }
        for (index, conversation) in conversations.enumerated() {
            busy.refused(message(UInt64(index + 2), in: conversation))
        }
        busy.ended(running, succeeded: true)
        number = UInt64(conversations.count + 2)
        for conversation in conversations {
            busy.append(message(number, in: conversation, ordered: .bool(true)))
            number += 1
        }
        #expect(drain(&busy).allSatisfy { $0.hasSuffix("-") })
        #expect(busy.waiting == 0 && busy.bytes == 0)
    }
}
