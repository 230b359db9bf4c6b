// SPDX-License-Identifier: Apache-2.0
import Foundation
import NetKit
import StrataModel
import Synchronization

enum ContentTransferEvent: Sendable {
    /// A transfer was added. It may be queued behind others.
    case began(TransferID, TransferProgress)
    case ended(TransferID, Result)
    /// Transfers are blocked until a user signs in.
    case signInNeeded(nonce: String?)

    enum Result: Hashable, Sendable {
        case uploaded(ContentID)
        case downloaded(file: String)
        case failed(StrataError)
        case cancelled
    }
}

/// An actor that uploads and downloads content. It limits the number of concurrent transfers and retries those that
/// failed temporarily.
///
/// Transfers are active only while ``run()`` is running, and end with it. After a restart of the process the owner adds
/// all unfinished transfers again. Downloads resume; uploads start at the first byte.
actor ContentTransfers {
    private enum Work: Sendable {
        case upload(ContentUpload)
        case download(ContentDownload)
    }

    private struct Job {
        let work: Work
        let progress: TransferProgress
        var stop = Wakeup()
        var waiters: [CheckedContinuation<ContentTransferEvent.Result, Never>] = []
    }

    private let server: any ContentServer
    private let folder: ContentFolder
    private let clock: any MonotonicClock
    private let random: @Sendable () -> Double
    private let publish: @Sendable (ContentTransferEvent) -> Void
    private var queue: TransferQueue
    private var jobs: [TransferID: Job] = [:]
    private var toStart: [TransferID] = []
    private var isOver = false
    private let changed = Wakeup()
    private let requests: Requests

    /// - Parameter publish: called in the order of events; must not block.
    init(
        server: any ContentServer, folder: ContentFolder, queue: TransferQueue = TransferQueue(),
        clock: any MonotonicClock = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        publish: @escaping @Sendable (ContentTransferEvent) -> Void
    ) {
        self.server = server
        self.folder = folder
        self.queue = queue
        self.clock = clock
        self.random = random
        self.publish = publish
        requests = Requests(changed: changed)
    }

    /// Processes transfers until the task is cancelled. Unfinished transfers then end as cancelled, and transfers that
    /// are added afterwards are cancelled immediately. Call it once only.
    func run() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                for (id, request) in requests.takeRequests() { carryOut(request, of: id) }
                carryOut(queue.timerDue(at: clock.now))
                for id in toStart { group.addTask { await self.performTransfer(id) } }
                toStart = []
                await changed.wait(until: queue.deadline, clock: clock)
            }
            group.cancelAll()
        }
        isOver = true
        for id in jobs.keys { endTransfer(id, result: .cancelled) }
    }

    // MARK: Starting and cancelling transfers

    /// Uploads content and waits for the end of the transfer. Cancelling the waiting task ends neither the transfer nor
    /// the wait; see ``cancel(_:)``.
    /// - Returns: the id of the content, for the message's part.
    /// - Throws: ``StrataError``, with ``StrataError/Code/transferCancelled`` if the app cancelled the transfer by its
    ///   progress; `CancellationError` if it was cancelled otherwise, for example by the end of ``run()``.
    func upload(_ upload: ContentUpload) async throws -> ContentID {
        let id = TransferID.upload(upload.part)
        let progress = addTransfer(id, work: .upload(upload), size: upload.size, rank: .init(isRequested: true))
        do {
            if case .uploaded(let content) = try await result(of: id) { return content }
        } catch is CancellationError where progress.isCancelled {
            throw StrataError(.transferCancelled, "The app has cancelled the upload of a part.")
        }
        throw CancellationError()
    }

    /// Downloads content on request of the app, and waits for the end of the transfer as ``upload(_:)`` does.
    /// - Returns: the file.
    /// - Throws: the errors of ``upload(_:)``.
    func download(_ download: ContentDownload) async throws -> URL {
        let id = TransferID.download(download.id)
        addTransfer(id, work: .download(download), size: download.size, rank: .init(isRequested: true))
        guard case .downloaded(let file) = try await result(of: id) else { throw CancellationError() }
        return folder.file(file)
    }

    /// Starts a download without waiting for it; see ``ContentTransferEvent``. A transfer that is already queued
    /// continues.
    @discardableResult
    func beginDownload(_ download: ContentDownload, rank: TransferQueue.Rank) -> TransferProgress {
        addTransfer(.download(download.id), work: .download(download), size: download.size, rank: rank)
    }

    @discardableResult
    func beginUpload(_ upload: ContentUpload) -> TransferProgress {
        addTransfer(.upload(upload.part), work: .upload(upload), size: upload.size, rank: .init(isRequested: true))
    }

    func progress(of id: TransferID) -> TransferProgress? { jobs[id]?.progress }

    func cancel(_ id: TransferID) { performActions(queue.cancel(id)) }

    func connectionChanged(isConnected: Bool) { performActions(queue.connectionChanged(isConnected: isConnected)) }

    func signedIn() { performActions(queue.signedIn()) }

    // MARK: Running

    /// Adds a transfer, or raises the rank of one that is queued.
    /// - Returns: the progress. It has already ended if ``run()`` has ended.
    @discardableResult
    private func addTransfer(_ id: TransferID, work: Work, size: Int, rank: TransferQueue.Rank) -> TransferProgress {
        if let job = jobs[id] {
            performActions(queue.addTransfer(id, rank: rank))
            return job.progress
        }
        let progress = TransferProgress(total: size, isCancellable: true, isPausable: !id.isUpload) { [requests] in
            requests.addRequest($0, of: id)
        }
        if isOver {
            progress.finish(isComplete: false)
            return progress
        }
        jobs[id] = Job(work: work, progress: progress)
        publish(.began(id, progress))
        performActions(queue.addTransfer(id, rank: rank))
        return progress
    }

    /// Waits for the end of a transfer.
    /// - Throws: the error of a failed transfer; `CancellationError` if the transfer was cancelled or does not exist.
    private func result(of id: TransferID) async throws -> ContentTransferEvent.Result {
        let result = await withCheckedContinuation { continuation in
            guard jobs[id] != nil else { return continuation.resume(returning: ContentTransferEvent.Result.cancelled) }
            jobs[id]?.waiters.append(continuation)
        }
        switch result {
        case .failed(let error): throw error
        case .cancelled: throw CancellationError()
        case .uploaded, .downloaded: return result
        }
    }

    /// Carries out the actions of an event, and wakes ``run()`` to check the queue.
    private func performActions(_ actions: [TransferQueue.Action]) {
        carryOut(actions)
        changed.signal()
    }

    private func carryOut(_ actions: [TransferQueue.Action]) {
        for action in actions {
            switch action {
            case .start(let id): toStart.append(id)
            case .stop(let id): jobs[id]?.stop.signal()
            case .end(let id, let error): endTransfer(id, result: error.map { .failed($0) } ?? .cancelled)
            case .askForSignIn(let nonce): publish(.signInNeeded(nonce: nonce))
            }
        }
    }

    private func carryOut(_ request: TransferProgress.Request, of id: TransferID) {
        switch request {
        case .cancel: carryOut(queue.cancel(id))
        case .pause: carryOut(queue.pause(id))
        case .resume: carryOut(queue.resume(id))
        }
    }

    private func endTransfer(_ id: TransferID, result: ContentTransferEvent.Result) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        let isComplete = if case .failed = result { false } else { result != .cancelled }
        job.progress.finish(isComplete: isComplete)
        publish(.ended(id, result))
        for waiter in job.waiters { waiter.resume(returning: result) }
    }

    /// Makes one attempt at a transfer and reports its outcome to the queue.
    private func performTransfer(_ id: TransferID) async {
        // The transfer was cancelled or paused before its task started, so there is nothing to stop.
        guard let job = jobs[id], !queue.isStopping(id) else { return stopped(id) }
        let before = job.progress.completed
        let transfer = ContentTransfer(server: server, folder: folder, progress: job.progress)
        let outcome = await Self.attempt(job.work, by: transfer, until: job.stop)
        if Task.isCancelled { return }
        if queue.isStopping(id) { return stopped(id) }
        switch outcome {
        case nil: break
        case .success(let result):
            performActions(queue.succeeded(id))
            endTransfer(id, result: result)
        case .failure(let error):
            let madeProgress = !id.isUpload && job.progress.completed > before
            performActions(
                queue.transferFailed(
                    id, failure: RequestFailure(error), madeProgress: madeProgress, at: clock.now, random: random()))
        }
    }

    /// Reports the end of an attempt that was stopped to the queue.
    private func stopped(_ id: TransferID) {
        // Replace the signal: a late one must not stop the next attempt.
        jobs[id]?.stop = Wakeup()
        performActions(queue.stopped(id))
    }

    /// - Returns: nil if the attempt was stopped.
    private static func attempt(
        _ work: Work, by transfer: ContentTransfer, until stop: Wakeup
    ) async -> Result<ContentTransferEvent.Result, any Error>? {
        await withTaskGroup(of: Result<ContentTransferEvent.Result, any Error>?.self) { group in
            group.addTask {
                do {
                    switch work {
                    case .upload(let upload): return .success(.uploaded(try await transfer.upload(upload)))
                    case .download(let download):
                        return .success(.downloaded(file: try await transfer.download(download)))
                    }
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await stop.wait()
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}

/// A mailbox for requests that apps make through progress objects. Those are synchronous and cannot await the actor.
private final class Requests: Sendable {
    private let list = Mutex<[(TransferID, TransferProgress.Request)]>([])
    private let changed: Wakeup

    init(changed: Wakeup) { self.changed = changed }

    func addRequest(_ request: TransferProgress.Request, of id: TransferID) {
        list.withLock { $0.append((id, request)) }
        changed.signal()
    }

    func takeRequests() -> [(TransferID, TransferProgress.Request)] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}
