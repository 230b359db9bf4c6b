// SPDX-License-Identifier: Apache-2.0

import StrataModel
import Synchronization

/// Runs of a function. Concurrent callers with the same key share one.
final class SharedRuns<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    private typealias Run = Task<Result<Output, Failure>, Never>

    private let limit: Int
    private let runs = Mutex<[Key: Run]>([:])

    /// - Parameter limit: the maximum number of runs at a time.
    init(limit: Int) { self.limit = limit }

    /// The number of runs in progress.
    var count: Int { runs.withLock { $0.count } }

    /// Returns the result of the run in progress for the key, or of a new run.
    /// - Throws: the failure of the run, or ``StrataModel/Failure/unavailable`` at once if the maximum number of runs
    ///   is in progress.
    func value(
        for key: Key, _ body: @escaping @Sendable () async -> Result<Output, Failure>
    ) async throws(Failure) -> (output: Output, isShared: Bool) {
        let joined: (run: Run, isShared: Bool)? = runs.withLock { runs in
            if let run = runs[key] { return (run, true) }
            guard runs.count < limit else { return nil }
            let run = Run {
                let result = await body()
                self.runs.withLock { $0[key] = nil }
                return result
            }
            runs[key] = run
            return (run, false)
        }
        guard let joined else { throw .unavailable }
        return (try await joined.run.value.get(), joined.isShared)
    }
}
