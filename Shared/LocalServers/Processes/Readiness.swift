// SPDX-License-Identifier: Apache-2.0

/// Waiting for a child to be ready.
enum Readiness {
    /// Asks again and again, starting with short pauses.
    /// - Parameters:
    ///   - child: the wait ends when it ends.
    ///   - limit: how long to ask.
    ///   - question: whether it is ready.
    /// - Returns: whether it became ready.
    /// - Throws: `CancellationError`, after killing the child.
    static func poll(_ child: ChildProcess, limit: Duration, until question: @Sendable () async -> Bool) async throws -> Bool {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: limit)
        var pause = Duration.milliseconds(5)
        while child.isRunning, clock.now < end {
            if await question() { return true }
            do {
                try await clock.sleep(for: pause)
            } catch {
                await child.stop(patience: .seconds(5))
                throw error
            }
            pause = min(pause * 2, .milliseconds(80))
        }
        return false
    }
}
