// SPDX-License-Identifier: Apache-2.0

/// The network jobs of an engine. They run in tasks outside the actor while the engine is running.
struct EngineJobs {
    typealias Job = @Sendable (SyncEngine) async -> Void

    private var queue: AsyncStream<Job>.Continuation?

    var isRunning: Bool { queue != nil }

    /// Opens the job queue.
    /// - Returns: the jobs to run.
    mutating func start() -> AsyncStream<Job> {
        let (jobs, queue) = AsyncStream.makeStream(of: Job.self)
        self.queue = queue
        return jobs
    }

    /// Adds a job. Does nothing unless the engine is running.
    func add(_ job: @escaping Job) { queue?.yield(job) }

    mutating func stop() { queue = nil }
}
