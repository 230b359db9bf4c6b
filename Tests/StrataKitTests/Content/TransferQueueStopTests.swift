// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("the transfer queue: cancelling, connections and sign-in")
struct TransferQueueStopTests {
    private let start = ContinuousClock.now
    private let one = TransferID.download(.random())
    private let two = TransferID.download(.random())
    private var queue = TransferQueue(limits: .init(uploads: 1, downloads: 1), isConnected: true)
    private let busy = RequestFailure.transient(StrataError(.networkRequestFailed, "busy"), retryAfter: nil)

    private mutating func add(_ id: TransferID, requested: Bool = false) -> [TransferQueue.Action] {
        queue.addTransfer(id, rank: .init(isRequested: requested))
    }

    private mutating func fail(_ id: TransferID, _ failure: RequestFailure) -> [TransferQueue.Action] {
        queue.transferFailed(id, failure: failure, madeProgress: false, at: start, random: 1)
    }

    @Test("a running transfer is stopped and keeps its slot until it has ended (PART-8)")
    mutating func running() {
        _ = add(one)
        _ = add(two)
        #expect(queue.cancel(one) == [.stop(one), .end(one, nil)])
        #expect(queue.isStopping(one) && !queue.contains(one))
        #expect(queue.cancel(one) == [])
        #expect(queue.succeeded(one) == [])
        #expect(fail(one, busy) == [])
        #expect(queue.stopped(one) == [.start(two)])
        #expect(!queue.isStopping(one))
    }

    @Test("a waiting transfer, for a slot or a retry, is removed at once")
    mutating func waiting() {
        _ = add(one)
        _ = add(two)
        #expect(queue.cancel(two) == [.end(two, nil)])
        #expect(queue.succeeded(one) == [])
        _ = add(one)
        _ = fail(one, busy)
        #expect(queue.cancel(one) == [.end(one, nil)])
        #expect(queue.deadline == nil)
        #expect(queue.cancel(one) == [])
    }

    @Test("a transfer added again while it stops starts after its end")
    mutating func again() {
        _ = add(one)
        _ = queue.cancel(one)
        #expect(add(one) == [])
        #expect(queue.contains(one))
        _ = add(two)
        _ = add(one, requested: true)
        #expect(queue.stopped(one) == [.start(one)])
        #expect(queue.succeeded(one) == [.start(two)])
    }

    @Test("a transfer added again while it stops can be cancelled again")
    mutating func againCancelled() {
        _ = add(one)
        _ = queue.cancel(one)
        _ = add(one)
        #expect(queue.cancel(one) == [.end(one, nil)])
        #expect(queue.stopped(one) == [])
        #expect(!queue.contains(one))
    }

    @Test("a paused transfer frees its slot at its end, and waits until it is resumed", .proves("PROG-1"))
    mutating func paused() {
        _ = add(one)
        _ = add(two)
        #expect(queue.pause(one) == [.stop(one)])
        #expect(queue.isStopping(one) && queue.contains(one))
        #expect(queue.stopped(one) == [.start(two)])
        #expect(queue.connectionChanged(isConnected: true) == [])
        #expect(queue.succeeded(two) == [])
        #expect(queue.resume(one) == [.start(one)])
        #expect(queue.resume(one) == [])
    }

    @Test("a transfer resumed before its end starts again afterwards")
    mutating func resumedEarly() {
        _ = add(one)
        _ = queue.pause(one)
        #expect(queue.resume(one) == [])
        #expect(queue.stopped(one) == [.start(one)])
    }

    @Test("a waiting transfer can be paused, for a slot or a retry")
    mutating func pausedWaiting() {
        _ = add(one)
        _ = add(two)
        #expect(queue.pause(two) == [])
        #expect(queue.succeeded(one) == [])
        #expect(queue.resume(two) == [.start(two)])
        _ = fail(two, busy)
        #expect(queue.pause(two) == [])
        #expect(queue.deadline == nil)
        #expect(queue.resume(two) == [.start(two)])
    }

    @Test("a paused transfer can be cancelled, and another request does not resume it")
    mutating func pausedCancelled() {
        _ = add(one)
        _ = queue.pause(one)
        #expect(add(one, requested: true) == [])
        #expect(queue.cancel(one) == [.end(one, nil)])
        #expect(queue.stopped(one) == [])
        _ = add(two)
        _ = queue.pause(two)
        _ = queue.stopped(two)
        #expect(add(two, requested: true) == [])
        #expect(queue.cancel(two) == [.end(two, nil)])
        #expect(!queue.contains(two) && queue.pause(two) == [])
    }

    @Test("without a connection no transfer begins, and no attempt counts (OFF-5)")
    mutating func offline() {
        queue = TransferQueue()
        #expect(add(one) == [])
        #expect(queue.connectionChanged(isConnected: true) == [.start(one)])
        for _ in 0..<30 {
            #expect(queue.connectionChanged(isConnected: false) == [])
            #expect(fail(one, busy) == [])
            #expect(queue.deadline == nil)
            #expect(queue.connectionChanged(isConnected: true) == [.start(one)])
        }
    }

    @Test("a new connection retries waiting transfers at once")
    mutating func reconnected() {
        _ = add(one)
        _ = fail(one, busy)
        #expect(queue.connectionChanged(isConnected: true) == [.start(one)])
        #expect(queue.deadline == nil)
    }

    @Test("without a session all transfers wait, one sign-in is requested, and it resumes them (OFF-9)")
    mutating func signIn() {
        queue = TransferQueue(isConnected: true)
        _ = add(one)
        _ = add(two)
        #expect(fail(one, .signInNeeded(nonce: "n")) == [.askForSignIn(nonce: "n")])
        #expect(fail(two, .signInNeeded(nonce: "m")) == [])
        #expect(queue.connectionChanged(isConnected: true) == [])
        #expect(queue.signedIn() == [.start(one), .start(two)])
    }
}
