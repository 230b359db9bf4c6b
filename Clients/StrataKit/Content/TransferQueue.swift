// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// Names one upload or download of content.
enum TransferID: Hashable, Sendable {
    /// The upload of the part with this id. Its content has no id until the server gives it one.
    case upload(UUID)
    case download(ContentID)

    var isUpload: Bool { if case .upload = self { true } else { false } }
}

/// Decides which transfers run: a few at a time, and downloads of new messages before those of old ones. Failed ones run again later, paused ones do not run.
///
/// The owner carries out the actions that each event returns, reports how each started transfer has ended, and calls ``timerDue(at:)`` at ``deadline``.
struct TransferQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// An action that the owner carries out.
    enum Action: Hashable, Sendable {
        case start(TransferID)
        /// Stop the transfer, and call ``TransferQueue/stopped(_:)`` when it has ended.
        case stop(TransferID)
        /// The transfer has failed. A nil error means that it was cancelled. A running one may not have ended yet.
        case end(TransferID, StrataError?)
        /// Transfers wait until a user has signed in.
        case askForSignIn(nonce: String?)
    }

    /// How many transfers run at a time.
    struct Width: Hashable, Sendable {
        var uploads = 5
        var downloads = 15
    }

    /// The order of transfers: first those that the app asked for, then those of newer messages, then those that were added earlier.
    struct Rank: Hashable, Sendable, Comparable {
        var isRequested: Bool
        /// The place of the message among all others.
        var ordering: Int64
        fileprivate var sequence = 0

        init(isRequested: Bool, ordering: Int64 = 0) {
            self.isRequested = isRequested
            self.ordering = ordering
        }

        /// Whether `a` comes later than `b`.
        static func < (a: Rank, b: Rank) -> Bool {
            if a.isRequested != b.isRequested { return b.isRequested }
            return a.ordering != b.ordering ? a.ordering < b.ordering : a.sequence > b.sequence
        }
    }

    private enum State {
        case waiting
        case running
        /// The transfer waits for its next attempt.
        case resting
        /// The transfer waits for ``TransferQueue/resume(_:)``.
        case paused
        /// The transfer was paused and has not ended yet. It still takes a place.
        case pausing(isResumed: Bool)
        /// The transfer was cancelled and has not ended yet. It still takes a place. If it has a rank, it was added again meanwhile.
        case stopping(addedAgain: Rank?)
    }

    private struct Transfer {
        var rank: Rank
        var state: State
        var counter = RetryCounter()
    }

    private let width: Width
    private let policy: RetryPolicy
    private var isConnected: Bool
    private var needsSignIn = false
    private var transfers: [TransferID: Transfer] = [:]
    /// The waiting transfers. The next one to run is the last.
    private var uploads: [(rank: Rank, id: TransferID)] = []
    private var downloads: [(rank: Rank, id: TransferID)] = []
    private var runningUploads = 0
    private var runningDownloads = 0
    private var resting: [TransferID: Instant] = [:]
    private var lastSequence = 0

    init(width: Width = Width(), policy: RetryPolicy = RetryPolicy(), isConnected: Bool = false) {
        self.width = width
        self.policy = policy
        self.isConnected = isConnected
    }

    /// When ``timerDue(at:)`` must be called next; nil while no transfer waits for its next try.
    var deadline: Instant? { resting.values.min() }

    /// Whether the transfer is in the queue and was not cancelled.
    func contains(_ id: TransferID) -> Bool {
        switch transfers[id]?.state {
        case nil, .stopping(addedAgain: nil): false
        case .waiting, .running, .resting, .paused, .pausing, .stopping: true
        }
    }

    /// Whether the transfer was cancelled or paused and has not ended yet.
    func isStopping(_ id: TransferID) -> Bool {
        switch transfers[id]?.state {
        case .stopping, .pausing: true
        case nil, .waiting, .running, .resting, .paused: false
        }
    }

    // MARK: Events

    /// Adds a transfer. If it is already in the queue, only its rank can change, to a better one.
    mutating func addTransfer(_ id: TransferID, rank: Rank) -> [Action] {
        lastSequence += 1
        var rank = rank
        rank.sequence = lastSequence
        switch transfers[id]?.state {
        case nil: enqueue(id, transfer: Transfer(rank: rank, state: .waiting))
        case .stopping(let earlier): transfers[id]?.state = .stopping(addedAgain: max(earlier ?? rank, rank))
        case .waiting: improve(id, to: rank)
        case .running, .resting, .paused, .pausing:
            let better = max(transfers[id]?.rank ?? rank, rank)
            transfers[id]?.rank = better
        }
        return startNext()
    }

    mutating func succeeded(_ id: TransferID) -> [Action] {
        guard case .running = transfers[id]?.state else { return [] }
        release(id)
        transfers[id] = nil
        return startNext()
    }

    /// A try of a started transfer has failed.
    /// - Parameters:
    ///   - madeProgress: whether it transferred bytes, so that earlier failures do not count.
    ///   - random: from 0 up to 1.
    mutating func transferFailed(_ id: TransferID, failure: RequestFailure, madeProgress: Bool, at now: Instant, random: Double) -> [Action] {
        guard var transfer = transfers[id], case .running = transfer.state else { return [] }
        release(id)
        if madeProgress { transfer.counter.progressed() }
        let decision = transfer.counter.tryFailed(failure, isConnected: isConnected, policy: policy, random: random)
        switch decision {
        case .giveUp(let error):
            transfers[id] = nil
            return [.end(id, error)] + startNext()
        case .retry(let delay):
            transfer.state = .resting
            transfers[id] = transfer
            resting[id] = now + delay
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

    /// The transfer is not wanted any more.
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
        case .resting:
            resting[id] = nil
            transfers[id] = nil
        case .paused: transfers[id] = nil
        case .pausing: transfers[id]?.state = .stopping(addedAgain: nil)
        }
        return [.end(id, nil)]
    }

    /// The transfer is to wait for ``resume(_:)``.
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
        case .resting:
            resting[id] = nil
            transfers[id]?.state = .paused
        }
        return []
    }

    mutating func resume(_ id: TransferID) -> [Action] {
        guard let transfer = transfers[id] else { return [] }
        switch transfer.state {
        case .paused: enqueue(id, transfer: transfer)
        case .pausing: transfers[id]?.state = .pausing(isResumed: true)
        case .waiting, .running, .resting, .stopping: break
        }
        return startNext()
    }

    /// A transfer that was to stop has ended, with or without success.
    mutating func stopped(_ id: TransferID) -> [Action] {
        guard let transfer = transfers[id] else { return [] }
        switch transfer.state {
        case .stopping(let addedAgain):
            release(id)
            transfers[id] = nil
            if let addedAgain { enqueue(id, transfer: Transfer(rank: addedAgain, state: .waiting)) }
        case .pausing(let isResumed):
            release(id)
            if isResumed { enqueue(id, transfer: transfer) } else { transfers[id]?.state = .paused }
        case .waiting, .running, .resting, .paused: return []
        }
        return startNext()
    }

    /// Moves transfers whose time has come back into the queue.
    mutating func timerDue(at now: Instant) -> [Action] {
        retry(resting.filter { $0.value <= now })
        return startNext()
    }

    /// The connection has changed. With one, every waiting transfer may start at once. Without one, no transfer starts, and running transfers continue.
    mutating func connectionChanged(isConnected: Bool) -> [Action] {
        self.isConnected = isConnected
        guard isConnected else { return [] }
        retry(resting)
        return startNext()
    }

    mutating func signedIn() -> [Action] {
        needsSignIn = false
        return startNext()
    }

    // MARK: The lists

    private mutating func startNext() -> [Action] {
        guard isConnected, !needsSignIn else { return [] }
        var actions: [Action] = []
        while runningUploads < width.uploads, let next = uploads.popLast() {
            runningUploads += 1
            actions.append(startTransfer(next.id))
        }
        while runningDownloads < width.downloads, let next = downloads.popLast() {
            runningDownloads += 1
            actions.append(startTransfer(next.id))
        }
        return actions
    }

    private mutating func startTransfer(_ id: TransferID) -> Action {
        transfers[id]?.state = .running
        return .start(id)
    }

    private mutating func release(_ id: TransferID) {
        if id.isUpload { runningUploads -= 1 } else { runningDownloads -= 1 }
    }

    private mutating func retry(_ due: [TransferID: Instant]) {
        for id in due.keys {
            resting[id] = nil
            if let transfer = transfers[id] { enqueue(id, transfer: transfer) }
        }
    }

    private mutating func improve(_ id: TransferID, to rank: Rank) {
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

    private mutating func withdraw(_ id: TransferID) {
        guard let rank = transfers[id]?.rank else { return }
        if id.isUpload {
            uploads.remove(at: Self.place(of: rank, in: uploads))
        } else {
            downloads.remove(at: Self.place(of: rank, in: downloads))
        }
    }

    /// The index at which the rank is or belongs. No two transfers have the same rank.
    private static func place(of rank: Rank, in list: [(rank: Rank, id: TransferID)]) -> Int {
        var range = 0..<list.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = list[middle].rank < rank ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
