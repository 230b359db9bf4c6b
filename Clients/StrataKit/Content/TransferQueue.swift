// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

enum TransferID: Hashable, Sendable {
    /// The upload of the part with this id. Its content has no id until the server assigns one.
    case upload(UUID)
    case download(ContentID)

    var isUpload: Bool { if case .upload = self { true } else { false } }
}

/// A state machine that schedules transfers. It limits concurrency, prefers downloads of newer messages, retries failed
/// transfers after a delay, and does not run paused transfers.
///
/// The owner carries out the actions that each event returns, reports the end of each started transfer, and calls
/// ``timerDue(at:)`` at ``deadline``.
struct TransferQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Action: Hashable, Sendable {
        case start(TransferID)
        /// Stop the transfer, and call ``TransferQueue/stopped(_:)`` when it has ended.
        case stop(TransferID)
        /// The transfer failed; a nil error means that it was cancelled. The attempt may still be running.
        case end(TransferID, StrataError?)
        /// Transfers are blocked until a user signs in.
        case askForSignIn(nonce: String?)
    }

    /// The maximum numbers of concurrent transfers.
    struct ConcurrencyLimits: Hashable, Sendable {
        var uploads = 5
        var downloads = 15
    }

    /// The priority of a transfer. Requests of the app come first, then transfers of newer messages, then transfers
    /// that were added earlier.
    struct Rank: Hashable, Sendable, Comparable {
        var isRequested: Bool
        /// The message's position in the order of all messages.
        var ordering: Int64
        fileprivate var sequence = 0

        init(isRequested: Bool, ordering: Int64 = 0) {
            self.isRequested = isRequested
            self.ordering = ordering
        }

        /// Returns true if `a` has lower priority than `b`.
        static func < (a: Rank, b: Rank) -> Bool {
            if a.isRequested != b.isRequested { return b.isRequested }
            return a.ordering != b.ordering ? a.ordering < b.ordering : a.sequence > b.sequence
        }
    }

    private enum State {
        case waiting
        case running
        /// Delayed until its next attempt.
        case delayed
        case paused
        /// Paused while running; the attempt has not ended yet and still occupies a slot.
        case pausing(isResumed: Bool)
        /// Cancelled while running; the attempt has not ended yet and still occupies a slot. A rank means that the
        /// transfer was added again in the meantime.
        case stopping(addedAgain: Rank?)
    }

    private struct Transfer {
        var rank: Rank
        var state: State
        var counter = RetryCounter()
    }

    private let limits: ConcurrencyLimits
    private let policy: RetryPolicy
    private var isConnected: Bool
    private var needsSignIn = false
    private var transfers: [TransferID: Transfer] = [:]
    /// The waiting transfers in ascending priority: the last one runs next.
    private var uploads: [(rank: Rank, id: TransferID)] = []
    private var downloads: [(rank: Rank, id: TransferID)] = []
    private var runningUploads = 0
    private var runningDownloads = 0
    private var delayed: [TransferID: Instant] = [:]
    private var lastSequence = 0

    init(
        limits: ConcurrencyLimits = ConcurrencyLimits(), policy: RetryPolicy = RetryPolicy(), isConnected: Bool = false
    ) {
        self.limits = limits
        self.policy = policy
        self.isConnected = isConnected
    }

    /// The time of the next call to ``timerDue(at:)``; nil if no transfer is delayed.
    var deadline: Instant? { delayed.values.min() }

    /// Returns true if the transfer is in the queue and was not cancelled.
    func contains(_ id: TransferID) -> Bool {
        switch transfers[id]?.state {
        case nil, .stopping(addedAgain: nil): false
        case .waiting, .running, .delayed, .paused, .pausing, .stopping: true
        }
    }

    /// Returns true if the transfer was cancelled or paused and its attempt has not ended yet.
    func isStopping(_ id: TransferID) -> Bool {
        switch transfers[id]?.state {
        case .stopping, .pausing: true
        case nil, .waiting, .running, .delayed, .paused: false
        }
    }

    // MARK: Events

    /// Adds a transfer. If it is already queued, the call can only raise its rank.
    mutating func addTransfer(_ id: TransferID, rank: Rank) -> [Action] {
        lastSequence += 1
        var rank = rank
        rank.sequence = lastSequence
        switch transfers[id]?.state {
        case nil: enqueue(id, transfer: Transfer(rank: rank, state: .waiting))
        case .stopping(let earlier): transfers[id]?.state = .stopping(addedAgain: max(earlier ?? rank, rank))
        case .waiting: moveForward(id, to: rank)
        case .running, .delayed, .paused, .pausing:
            let better = max(transfers[id]?.rank ?? rank, rank)
            transfers[id]?.rank = better
        }
        return startNext()
    }

    mutating func succeeded(_ id: TransferID) -> [Action] {
        guard case .running = transfers[id]?.state else { return [] }
        freeSlot(of: id)
        transfers[id] = nil
        return startNext()
    }

    /// Reports a failed attempt of a started transfer.
    /// - Parameters:
    ///   - madeProgress: true if the attempt transferred bytes; earlier failures then do not count.
    ///   - random: a random number in 0..<1.
    mutating func transferFailed(
        _ id: TransferID, failure: RequestFailure, madeProgress: Bool, at now: Instant, random: Double
    ) -> [Action] {
        guard var transfer = transfers[id], case .running = transfer.state else { return [] }
        freeSlot(of: id)
        if madeProgress { transfer.counter.progressed() }
        let decision = transfer.counter.tryFailed(failure, isConnected: isConnected, policy: policy, random: random)
        switch decision {
        case .giveUp(let error):
            transfers[id] = nil
            return [.end(id, error)] + startNext()
        case .retry(let delay):
            transfer.state = .delayed
            transfers[id] = transfer
            delayed[id] = now + delay
            return startNext()
        case .waitForConnection:
            enqueue(id, transfer: transfer)
            return startNext()
        case .waitForSignIn(let nonce):
            enqueue(id, transfer: transfer)
            let wasAsked = needsSignIn
            needsSignIn = true
            return wasAsked ? [] : [.askForSignIn(nonce: nonce)]
        }
    }

    mutating func cancel(_ id: TransferID) -> [Action] {
        switch transfers[id]?.state {
        case nil, .stopping(addedAgain: nil): return []
        case .stopping: transfers[id]?.state = .stopping(addedAgain: nil)
        case .running:
            transfers[id]?.state = .stopping(addedAgain: nil)
            return [.stop(id), .end(id, nil)]
        case .waiting:
            withdraw(id)
            transfers[id] = nil
        case .delayed:
            delayed[id] = nil
            transfers[id] = nil
        case .paused: transfers[id] = nil
        case .pausing: transfers[id]?.state = .stopping(addedAgain: nil)
        }
        return [.end(id, nil)]
    }

    mutating func pause(_ id: TransferID) -> [Action] {
        switch transfers[id]?.state {
        case nil, .stopping, .paused: break
        case .pausing: transfers[id]?.state = .pausing(isResumed: false)
        case .running:
            transfers[id]?.state = .pausing(isResumed: false)
            return [.stop(id)]
        case .waiting:
            withdraw(id)
            transfers[id]?.state = .paused
        case .delayed:
            delayed[id] = nil
            transfers[id]?.state = .paused
        }
        return []
    }

    mutating func resume(_ id: TransferID) -> [Action] {
        guard let transfer = transfers[id] else { return [] }
        switch transfer.state {
        case .paused: enqueue(id, transfer: transfer)
        case .pausing: transfers[id]?.state = .pausing(isResumed: true)
        case .waiting, .running, .delayed, .stopping: break
        }
        return startNext()
    }

    /// Reports the end of an attempt that was stopped, whether it succeeded or failed.
    mutating func stopped(_ id: TransferID) -> [Action] {
        guard let transfer = transfers[id] else { return [] }
        switch transfer.state {
        case .stopping(let addedAgain):
            freeSlot(of: id)
            transfers[id] = nil
            if let addedAgain { enqueue(id, transfer: Transfer(rank: addedAgain, state: .waiting)) }
        case .pausing(let isResumed):
            freeSlot(of: id)
            if isResumed { enqueue(id, transfer: transfer) } else { transfers[id]?.state = .paused }
        case .waiting, .running, .delayed, .paused: return []
        }
        return startNext()
    }

    /// Requeues the delayed transfers that are due.
    mutating func timerDue(at now: Instant) -> [Action] {
        enqueueDelayed(delayed.filter { $0.value <= now })
        return startNext()
    }

    /// Updates the state of the connection. With a connection, delayed transfers become due immediately. Without one,
    /// no transfer starts; running transfers continue.
    mutating func connectionChanged(isConnected: Bool) -> [Action] {
        self.isConnected = isConnected
        guard isConnected else { return [] }
        enqueueDelayed(delayed)
        return startNext()
    }

    mutating func signedIn() -> [Action] {
        needsSignIn = false
        return startNext()
    }

    // MARK: Queues

    private mutating func startNext() -> [Action] {
        guard isConnected, !needsSignIn else { return [] }
        var actions: [Action] = []
        while runningUploads < limits.uploads, let next = uploads.popLast() {
            runningUploads += 1
            actions.append(startTransfer(next.id))
        }
        while runningDownloads < limits.downloads, let next = downloads.popLast() {
            runningDownloads += 1
            actions.append(startTransfer(next.id))
        }
        return actions
    }

    private mutating func startTransfer(_ id: TransferID) -> Action {
        transfers[id]?.state = .running
        return .start(id)
    }

    /// Ends the use of a slot by a transfer whose attempt has ended.
    private mutating func freeSlot(of id: TransferID) {
        if id.isUpload { runningUploads -= 1 } else { runningDownloads -= 1 }
    }

    private mutating func enqueueDelayed(_ due: [TransferID: Instant]) {
        for id in due.keys {
            delayed[id] = nil
            if let transfer = transfers[id] { enqueue(id, transfer: transfer) }
        }
    }

    /// Raises the rank of a waiting transfer. A lower rank has no effect.
    private mutating func moveForward(_ id: TransferID, to rank: Rank) {
        guard var transfer = transfers[id], transfer.rank < rank else { return }
        withdraw(id)
        transfer.rank = rank
        enqueue(id, transfer: transfer)
    }

    private mutating func enqueue(_ id: TransferID, transfer: Transfer) {
        var transfer = transfer
        transfer.state = .waiting
        transfers[id] = transfer
        if id.isUpload {
            uploads.insert((transfer.rank, id), at: Self.place(of: transfer.rank, in: uploads))
        } else {
            downloads.insert((transfer.rank, id), at: Self.place(of: transfer.rank, in: downloads))
        }
    }

    /// Removes a waiting transfer from its queue. The caller sets its state.
    private mutating func withdraw(_ id: TransferID) {
        guard let rank = transfers[id]?.rank else { return }
        if id.isUpload {
            uploads.remove(at: Self.place(of: rank, in: uploads))
        } else {
            downloads.remove(at: Self.place(of: rank, in: downloads))
        }
    }

    /// Returns the index at which the rank is or belongs. Ranks are unique.
    private static func place(of rank: Rank, in list: [(rank: Rank, id: TransferID)]) -> Int {
        var range = 0..<list.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = list[middle].rank < rank ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
