// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One run of `strata dev`: start, wait for a signal, stop.
struct DevSession: Sendable {
    let system: DevSystem
    let console: Console

    /// Runs the system and returns after a signal, when all processes have stopped.
    /// - Throws: The reason why the start failed. Processes that already ran have been stopped.
    func run() async throws {
        let up = Task {
            try await system.start()
            console.say(await system.welcome())
            while true { try await Task.sleep(for: .seconds(86_400)) }
        }
        let watching = watch(TerminationSignals(), stop: up)
        defer { watching.cancel() }
        let result = await up.result
        let isWanted = up.isCancelled
        if isWanted { console.say("\nStopping. Press Ctrl-C again to kill everything immediately.") }
        await system.stop()
        if !isWanted { _ = try result.get() }
        console.say("Stopped. The data is kept in \(system.home.path).")
    }

    /// Cancels `stop` at the first signal. A second signal ends this process at once, and the children with it.
    private func watch(_ signals: TerminationSignals, stop: Task<Void, any Error>) -> Task<Void, Never> {
        Task {
            for await _ in signals.stream {
                guard !stop.isCancelled else { Foundation.exit(130) }
                stop.cancel()
            }
        }
    }
}
