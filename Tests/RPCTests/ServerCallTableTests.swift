// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RPC

final class ServerCallTableTests {
    let now = ContinuousClock.now
    var table = RPCServerCallTable<String>()

    func begin(_ id: UInt64, after delay: Duration = .seconds(10)) {
        #expect(table.requestReceived(id, deadline: now + delay, at: now) == .start)
        table.attached(toCall: id, handler: "handler \(id)")
    }

    @Test("a call is answered once")
    func answered() {
        begin(1)
        #expect(table.finished(1, isLong: false) == .answer)
        #expect(table.finished(1, isLong: false) == .drop)
    }

    @Test("an expired request starts no handler")
    func late() {
        #expect(table.requestReceived(1, deadline: now, at: now) == .expired)
        #expect(table.count == 0)
    }

    @Test("an id in use is a protocol error, also while its long answer is being sent")
    func duplicate() {
        begin(1)
        #expect(table.requestReceived(1, deadline: now + .seconds(1), at: now) == .duplicate)
        #expect(table.finished(1, isLong: true) == .answer)
        #expect(table.requestReceived(1, deadline: now + .seconds(1), at: now) == .duplicate)
        table.sent(1)
        begin(1)
    }

    @Test("cancelling returns the handler once, and its result is discarded")
    func cancelled() {
        begin(1)
        #expect(table.cancelled(1) == "handler 1")
        #expect(table.cancelled(1) == nil)
        #expect(table.finished(1, isLong: true) == .drop)
        #expect(table.count == 0)
    }

    @Test("expired calls are answered and their handlers cancelled, except for long answers being sent")
    func expired() {
        begin(1, after: .seconds(1))
        begin(2, after: .seconds(2))
        begin(3, after: .seconds(1))
        #expect(table.finished(3, isLong: true) == .answer)
        let due = table.expired(at: now + .seconds(1))
        #expect(due.map(\.id) == [1])
        #expect(due.first?.handler == "handler 1")
        #expect(table.earliestDeadline == now + .seconds(2))
        #expect(table.finished(1, isLong: false) == .drop)
        #expect(table.count == 2)
    }

    @Test("a connection is drained when the peer has agreed and the last answer is written")
    func drained() {
        begin(1)
        begin(2)
        #expect(table.drainAsked() == true)
        #expect(table.drainAsked() == false)
        _ = table.finished(1, isLong: false)
        begin(3)
        table.drainConfirmed()
        #expect(!table.isDrained)
        _ = table.finished(2, isLong: true)
        _ = table.finished(3, isLong: false)
        #expect(!table.isDrained)
        table.sent(2)
        #expect(table.isDrained)
    }

    @Test("an idle connection is drained only after the peer agrees, because a request may be in transit")
    func askedOnly() {
        #expect(table.drainAsked() == true)
        #expect(!table.isDrained)
    }

    @Test("a lost connection cancels the running handlers")
    func closed() {
        begin(1)
        begin(2)
        _ = table.finished(2, isLong: true)
        #expect(table.closed() == ["handler 1"])
        #expect(table.finished(1, isLong: false) == .drop)
    }
}
