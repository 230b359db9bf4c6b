// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("the transfer queue")
struct TransferQueueTests {
    private let start = ContinuousClock.now
    private let ids = (0..<30).map { _ in ContentID.random() }
    private let parts = (0..<10).map { _ in UUID() }
    private var queue = TransferQueue(isConnected: true)
    private let busy = RequestFailure.transient(StrataError(.networkRequestFailed, "busy"), retryAfter: nil)

    private func download(_ index: Int) -> TransferID { .download(ids[index]) }
    private func upload(_ index: Int) -> TransferID { .upload(parts[index]) }

    private mutating func add(_ index: Int, at ordering: Int64 = 0, requested: Bool = false) -> [TransferQueue.Action] {
        queue.addTransfer(download(index), rank: .init(isRequested: requested, ordering: ordering))
    }

    private mutating func addUpload(_ index: Int) -> [TransferQueue.Action] {
        queue.addTransfer(upload(index), rank: .init(isRequested: true))
    }

    /// Reports a failed attempt at a second after the start.
    private mutating func fail(
        _ id: TransferID, _ failure: RequestFailure, progress: Bool = false, at second: Double = 0
    ) -> [TransferQueue.Action] {
        queue.transferFailed(id, failure: failure, madeProgress: progress, at: start + second, random: 1)
    }

    @Test("5 uploads and 15 downloads run at once, each kind with its own limit", .proves("PART-8"))
    mutating func width() {
        for index in 0..<15 { #expect(add(index) == [.start(download(index))]) }
        #expect(add(15) == [])
        for index in 0..<5 { #expect(addUpload(index) == [.start(upload(index))]) }
        #expect(addUpload(5) == [])
        #expect(queue.succeeded(download(3)) == [.start(download(15))])
        #expect(queue.succeeded(upload(0)) == [.start(upload(5))])
        #expect(queue.succeeded(upload(1)) == [])
    }

    @Test("requested transfers come first, then the newest message, then the earliest request", .proves("PART-5"))
    mutating func order() {
        queue = TransferQueue(limits: .init(uploads: 1, downloads: 1), isConnected: true)
        _ = add(0)
        for (index, ordering) in [(1, 10), (2, 30), (3, 20), (4, 30)] as [(Int, Int64)] { _ = add(index, at: ordering) }
        _ = add(5, at: 1, requested: true)
        var order: [TransferID] = []
        var next = download(0)
        while case .start(let id)? = queue.succeeded(next).first {
            order.append(id)
            next = id
        }
        #expect(order == [5, 2, 4, 3, 1].map { download($0) })
    }

    @Test("uploads run in the order in which they were added")
    mutating func uploadOrder() {
        queue = TransferQueue(limits: .init(uploads: 1, downloads: 1), isConnected: true)
        for index in 0..<4 { _ = addUpload(index) }
        for index in 0..<3 { #expect(queue.succeeded(upload(index)) == [.start(upload(index + 1))]) }
    }

    @Test("adding a transfer again can only improve its place")
    mutating func again() {
        queue = TransferQueue(limits: .init(uploads: 1, downloads: 1), isConnected: true)
        for index in 0..<4 { _ = add(index, at: Int64(-index)) }
        #expect(add(3, at: -9) == [])
        #expect(add(3, at: -3, requested: true) == [])
        #expect(add(0, requested: true) == [])
        #expect(queue.succeeded(download(0)) == [.start(download(3))])
        #expect(queue.succeeded(download(3)) == [.start(download(1))])
    }

    @Test("a failed transfer is retried with growing waits while others run", .proves("PART-8"))
    mutating func retries() {
        queue = TransferQueue(limits: .init(uploads: 1, downloads: 1), isConnected: true)
        _ = add(0)
        _ = add(1)
        #expect(fail(download(0), busy) == [.start(download(1))])
        #expect(queue.deadline == start + 1)
        #expect(queue.timerDue(at: start + 0.9) == [])
        #expect(queue.timerDue(at: start + 1) == [])
        #expect(queue.deadline == nil)
        #expect(queue.succeeded(download(1)) == [.start(download(0))])
        _ = fail(download(0), busy, at: 10)
        #expect(queue.deadline == start + 12)
        #expect(queue.timerDue(at: start + 12) == [.start(download(0))])
    }

    @Test("a transfer fails permanently after 20 attempts, or at once if the server refuses it (OFF-5)")
    mutating func givesUp() {
        _ = add(0)
        for number in 1..<20 {
            #expect(fail(download(0), busy) == [])
            #expect(queue.timerDue(at: start + 60) == [.start(download(0))], "try \(number)")
        }
        let last = StrataError(.networkRequestFailed, "20 tries failed; the last: busy")
        #expect(fail(download(0), busy) == [.end(download(0), last)])
        #expect(!queue.contains(download(0)))
        _ = addUpload(0)
        let refused = StrataError(.dataLengthExceedsMaximum, "too large")
        #expect(fail(upload(0), .permanent(refused, nil)) == [.end(upload(0), refused)])
    }

    @Test("a download with progress may be interrupted any number of times", .proves("PART-8"))
    mutating func progress() {
        _ = add(0)
        for _ in 0..<100 {
            #expect(fail(download(0), busy, progress: true) == [])
            #expect(queue.deadline == start + 1)
            #expect(queue.timerDue(at: start + 1) == [.start(download(0))])
        }
    }

    @Test("a wait requested by the server is kept")
    mutating func retryAfter() {
        _ = add(0)
        _ = fail(download(0), .transient(StrataError(.networkRequestFailed, "busy"), retryAfter: .seconds(7)))
        #expect(queue.deadline == start + 7)
    }

    @Test("success and failure of transfers that do not run change nothing")
    mutating func stale() {
        #expect(queue.succeeded(download(0)) == [])
        #expect(fail(download(0), busy) == [])
        #expect(queue.stopped(download(0)) == [])
        _ = add(0)
        #expect(queue.stopped(download(0)) == [])
        _ = fail(download(0), busy)
        #expect(queue.succeeded(download(0)) == [])
        #expect(queue.contains(download(0)))
    }
}
