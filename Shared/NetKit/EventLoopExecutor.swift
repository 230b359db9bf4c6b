// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// A task executor that runs tasks on an event loop, so that a task started there by a channel handler is not handed
/// over to another thread and back. A hand-over costs about 9 µs of CPU time.
///
/// Use it for short tasks only, because the loop's connections wait while a task runs.
public final class EventLoopExecutor: TaskExecutor {
    /// The maximum size of a request that a task on a loop may handle, in bytes.
    public static let requestBytes = 16 << 10

    private let loop: any EventLoop

    /// Creates the executor of a loop.
    public init(_ loop: any EventLoop) { self.loop = loop }

    /// Runs a job on the loop.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
