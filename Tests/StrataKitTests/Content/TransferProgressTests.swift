// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TestTiers
import Testing

@testable import StrataKit

@Suite("the progress of transfers")
struct TransferProgressTests {
    @Test("progress has the completed amount, the total and the fraction", .proves("PROG-1"))
    func values() {
        let progress = TransferProgress(total: 200)
        #expect(progress.completed == 0 && progress.fraction == 0 && !progress.isFinished)
        progress.update(completed: 50)
        #expect(progress.completed == 50 && progress.fraction == 0.25 && progress.total == 200)
        progress.finish(isComplete: true)
        #expect(progress.completed == 200 && progress.fraction == 1 && progress.isFinished)
        progress.update(completed: 1)
        #expect(progress.completed == 200)
    }

    @Test("a failed progress keeps its fraction")
    func failed() {
        let progress = TransferProgress(total: 200)
        progress.update(completed: 50)
        progress.finish(isComplete: false)
        progress.finish(isComplete: true)
        #expect(progress.fraction == 0.25 && progress.isFinished)
    }

    @Test("empty content is complete when the transfer ends")
    func empty() {
        let progress = TransferProgress(total: 0)
        #expect(progress.fraction == 0)
        progress.finish(isComplete: true)
        #expect(progress.fraction == 1)
    }

    @Test(
        "every iterator receives the fractions from the present one to the end", .proves("PROG-1"),
        .timeLimit(.minutes(3)))
    func iterates() async {
        let progress = TransferProgress(total: 4)
        progress.update(completed: 1)
        var (first, second) = (progress.makeAsyncIterator(), progress.makeAsyncIterator())
        #expect(await first.next(isolation: #isolation) == 0.25)
        progress.update(completed: 2)
        #expect(await first.next(isolation: #isolation) == 0.5)
        progress.update(completed: 3)
        progress.finish(isComplete: true)
        #expect(await first.next(isolation: #isolation) == 1)
        #expect(await first.next(isolation: #isolation) == nil)
        #expect(await second.next(isolation: #isolation) == 1)
        #expect(await second.next(isolation: #isolation) == nil)
    }

    @Test("a finished progress returns its end", .timeLimit(.minutes(3)))
    func over() async {
        let progress = TransferProgress(total: 4)
        progress.finish(isComplete: true)
        var fractions: [Double] = []
        for await fraction in progress { fractions.append(fraction) }
        #expect(fractions == [1])
    }

    @Test("a cancellable progress is cancelled once, and not after its end", .proves("PROG-1"))
    func cancel() {
        let count = Mutex(0)
        func make(isCancellable: Bool = true) -> TransferProgress {
            TransferProgress(total: 1, isCancellable: isCancellable) { request in
                if request == .cancel { count.withLock { $0 += 1 } }
            }
        }
        let (progress, fixed, done) = (make(), make(isCancellable: false), make())
        progress.cancel()
        progress.cancel()
        fixed.cancel()
        done.finish(isComplete: true)
        done.cancel()
        #expect(progress.isCancelled && !fixed.isCancelled && !done.isCancelled)
        #expect(count.withLock { $0 } == 1)
    }

    @Test("a pausable progress is paused and resumed until it is finished", .proves("PROG-1"))
    func pause() {
        let requests = Mutex<[TransferProgress.Request]>([])
        let progress = TransferProgress(total: 1, isCancellable: true, isPausable: true) { request in
            requests.withLock { $0.append(request) }
        }
        progress.resume()
        progress.pause()
        progress.pause()
        #expect(progress.isPaused)
        progress.resume()
        #expect(!progress.isPaused)
        progress.pause()
        progress.cancel()
        progress.resume()
        #expect(!progress.isPaused)
        progress.finish(isComplete: false)
        progress.pause()
        #expect(requests.withLock { $0 } == [.pause, .resume, .pause, .cancel])
        let fixed = TransferProgress(total: 1, isCancellable: true)
        fixed.pause()
        #expect(!fixed.isPaused && !fixed.isPausable)
    }

    @Test("the total may become known later and grow")
    func growing() {
        let progress = TransferProgress(unit: .messages)
        #expect(progress.total == 0 && progress.fraction == 0)
        progress.update(completed: 1, total: 4)
        #expect(progress.fraction == 0.25)
        progress.update(completed: 1, total: 2)
        #expect(progress.fraction == 0.5)
    }

    @MainActor
    @Test(
        "an iterator receives the progress in its own isolation, whatever changes it", .proves("PROG-2"),
        .timeLimit(.minutes(3)))
    func isolation() async {
        let progress = TransferProgress(total: 100)
        let work = Task.detached {
            for count in 1...100 { progress.update(completed: count) }
            progress.finish(isComplete: true)
        }
        var last = 0.0
        for await fraction in progress {
            MainActor.preconditionIsolated()
            #expect(fraction >= last)
            last = fraction
        }
        #expect(last == 1)
        await work.value
        await Listener().listens(to: progress)
    }

    private actor Listener {
        func listens(to progress: TransferProgress) async {
            for await fraction in progress {
                preconditionIsolated()
                #expect(fraction == 1)
            }
        }
    }

    @Test(
        "aggregate progress counts by bytes, and ends with the last transfer", .proves("PROG-1"),
        .timeLimit(.minutes(3)))
    func aggregate() async {
        let (small, large) = (TransferProgress(total: 100), TransferProgress(total: 300))
        let all = AggregateProgress([small, large])
        var iterator = all.makeAsyncIterator()
        #expect(await iterator.next(isolation: #isolation) == 0)
        small.finish(isComplete: true)
        #expect(await iterator.next(isolation: #isolation) == 0.25)
        #expect(all.total == 400 && all.completed == 100 && !all.isFinished)
        large.finish(isComplete: true)
        #expect(await iterator.next(isolation: #isolation) == 1)
        #expect(await iterator.next(isolation: #isolation) == nil)
    }

    @Test("aggregate progress cancels or pauses its unfinished transfers", .proves("PROG-1"))
    func aggregateControls() {
        let (done, open) = (
            TransferProgress(total: 1, isCancellable: true),
            TransferProgress(total: 1, isCancellable: true, isPausable: true)
        )
        let all = AggregateProgress([done, open])
        #expect(all.isCancellable && !all.isPausable)
        done.finish(isComplete: true)
        #expect(all.isPausable && !all.isPaused)
        all.pause()
        #expect(all.isPaused && open.isPaused && !done.isPaused)
        all.resume()
        #expect(!all.isPaused)
        all.cancel()
        #expect(!done.isCancelled && open.isCancelled)
    }

    @Test("an empty aggregate is complete", .timeLimit(.minutes(3)))
    func none() async {
        var fractions: [Double] = []
        for await fraction in AggregateProgress([]) { fractions.append(fraction) }
        #expect(fractions == [1])
    }
}
