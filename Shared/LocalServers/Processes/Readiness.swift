// SPDX-License-Identifier: Apache-2.0

/// A wait for a child to become ready.
enum Readiness {
    /// Polls until the child is ready, starting with short pauses.
    /// - Parameters:
    ///   - child: The child. The wait ends when it exits.
    ///   - limit: The maximum wait.
    ///   - question: Returns true if the child is ready.
    /// - Returns: True if the child became ready.
    /// - Throws: `CancellationError`, after stopping the child.
    static func poll(
        _ child: ChildProcess, limit: Duration, until question: @Sendable () async -> Bool
    ) async throws -> Bool {
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
