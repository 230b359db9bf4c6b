// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One run of `strata dev`: up, wait for a signal, down.
struct DevSession: Sendable {
    let system: DevSystem
    let console: Console

    /// Returns after a signal, when everything has stopped.
    /// - Throws: why it did not come up; what had been started is stopped then too.
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
        if isWanted { console.say("\nStopping; once more to kill everything at once.") }
        await system.stop()
        if !isWanted { _ = try result.get() }
        console.say("Stopped. The data is kept in \(system.home.path).")
    }

    /// The first signal ends what `stop` does. Who sends another does not want to wait: we go at once, and the children die with us.
    private func watch(_ signals: TerminationSignals, stop: Task<Void, any Error>) -> Task<Void, Never> {
        Task {
            for await _ in signals.stream {
                guard !stop.isCancelled else { Foundation.exit(130) }
                stop.cancel()
            }
        }
    }
}
