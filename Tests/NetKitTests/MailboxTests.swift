// SPDX-License-Identifier: Apache-2.0

import NetKit
import Testing

@Suite("mailboxes")
struct MailboxTests {
    @Test("the first item wakes the consumer, a drained mailbox takes follow-ups only, a closed one nothing")
    func phases() {
        let mailbox = Mailbox<Int>()
        #expect(mailbox.put(1) == .wake)
        #expect(mailbox.put(2) == .queued)
        #expect(mailbox.waiting == 2)
        #expect(mailbox.take() == [1, 2])
        #expect(mailbox.waiting == 0)
        mailbox.drain()
        #expect(!mailbox.isOpen)
        #expect(mailbox.put(3) == .refused)
        #expect(mailbox.putFollowUp(4) == .wake)
        #expect(mailbox.close() == [4])
        #expect(mailbox.putFollowUp(5) == .refused)
    }

    @Test("held items are limited until their release, but a single item is always accepted")
    func bytes() {
        let mailbox = Mailbox<Int>(limit: .init(items: .max, bytes: 50))
        #expect(mailbox.put(1, cost: .init(bytes: 60)) == .wake)
        #expect(mailbox.put(2, cost: .init(bytes: 1)) == .full)
        #expect(mailbox.take() == [1])
        #expect(mailbox.put(2, cost: .init(bytes: 1)) == .full, "what is worked on counts")
        #expect(mailbox.release(.init(bytes: 60)) == .init())
        #expect(mailbox.put(3, cost: .init(bytes: 50)) == .wake)
        #expect(mailbox.held == .init(bytes: 50))
    }

    @Test("several items are accepted within the limits of items and bytes, and excess items are returned")
    func several() {
        let mailbox = Mailbox<Int>(limit: .init(items: 2, bytes: 1000))
        let first = mailbox.put(contentsOf: [10, 20, 30]) { .init(items: 1, bytes: $0) }
        #expect(first.wake && first.refused.map(\.item) == [30] && first.refused.map(\.why) == [.full])
        #expect(mailbox.take() == [10, 20])
        #expect(mailbox.release(.init(items: 1, bytes: 10)) == .init(items: 1, bytes: 20))
        let second = mailbox.put(contentsOf: [2000, 30]) { .init(items: 1, bytes: $0) }
        #expect(second.wake && second.refused.map(\.item) == [2000])
        mailbox.drain()
        let third = mailbox.put(contentsOf: [1]) { .init(items: 1, bytes: $0) }
        #expect(!third.wake && third.refused.map(\.why) == [.refused])
        #expect(mailbox.take() == [30], "what was taken before is still there")
    }
}
