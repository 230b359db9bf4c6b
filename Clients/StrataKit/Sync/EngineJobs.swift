// SPDX-License-Identifier: Apache-2.0

/// Work of an engine that waits for the network, and is done in tasks outside the actor while the engine runs.
struct EngineJobs {
    typealias Job = @Sendable (SyncEngine) async -> Void

    private var queue: AsyncStream<Job>.Continuation?

    /// Whether the engine runs.
    var isRunning: Bool { queue != nil }

    /// The engine runs.
    /// - Returns: the jobs to carry out.
    mutating func start() -> AsyncStream<Job> {
        let (jobs, queue) = AsyncStream.makeStream(of: Job.self)
        self.queue = queue
        return jobs
    }

    /// Does nothing unless the engine runs.
    func add(_ job: @escaping Job) { queue?.yield(job) }

    mutating func stop() { queue = nil }
}
