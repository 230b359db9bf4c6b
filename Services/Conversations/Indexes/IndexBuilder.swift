// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Logging
import Metrics
import NetKit
import Postgres
import ServiceLifecycle
import StrataModel
import Synchronization

/// Builds the metadata indexes that apps have declared, and removes those that apps have dropped. Each short
/// transaction stores its progress. So any instance can be killed at any time, and another one continues. ``AppTurns``
/// decides which app is next.
final class IndexBuilder: Service {
    private let database: Database
    /// A signal that an app has declared or dropped an index.
    private let signal: Wakeup
    private let interval: Duration
    private let logger: Logger
    private let turns = Mutex(AppTurns())
    private let failures = Counter(label: "strata_conversations_index_failures_total")
    private let lookedAt = Counter(label: "strata_conversations_indexed_total")

    /// The maximum number of conversations or entries in one transaction.
    private static let batch: Int64 = 1000
    /// The pause if no work is possible at the moment.
    private static let pause = Duration.seconds(1)
    /// The pause between two batches, as a multiple of the first one's duration, so that a build uses only part of the
    /// database's time.
    private static let rest = 1.0

    /// - Parameter interval: the interval between searches for work that another instance left.
    init(database: Database, signal: Wakeup = Wakeup(), interval: Duration = .seconds(5), logger: Logger) {
        self.database = database
        self.signal = signal
        self.interval = interval
        self.logger = logger
    }

    /// Works until the service stops. It logs a failure and retries after a pause.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                if let pause = await self.turn() {
                    try? await Task.sleep(for: pause)
                } else {
                    await self.signal.wait(until: .now + self.interval * Double.random(in: 0.8...1.2))
                }
            }
        }
    }

    /// Processes one batch.
    /// - Returns: the pause before the next one. nil: no index is unfinished.
    private func turn() async -> Duration? {
        let start = ContinuousClock.now
        do {
            guard let done = try await step(batch: Self.batch, deadline: start + .seconds(30)) else { return nil }
            if done == 0 { return Self.pause * Double.random(in: 0.8...1.2) }
            return (ContinuousClock.now - start) * Self.rest
        } catch {
            report(error)
            return Self.pause * 5
        }
    }

    private func report(_ failure: Failure) {
        failures.increment()
        logger.warning(
            "metadata index build failed", metadata: ["error.code": "\(failure.code.id)"])
    }

    /// Processes one batch of the app whose turn it is. A failure of one app is logged and does not stop other apps.
    /// - Returns: the number of processed conversations or entries. 0: no work is possible at the moment. nil: no index
    ///   is unfinished.
    func step(batch: Int64, deadline: ContinuousClock.Instant) async throws(Failure) -> Int64? {
        let rows = try await database.runExclusive(AppsWithUnfinishedIndexes(), deadline: deadline)
        guard let row = rows.first else { return nil }
        var apps = Set(row.apps)
        var canWork: Int64?
        while let app = turns.withLock({ $0.next(among: apps) }) {
            let start = ContinuousClock.now
            defer { turns.withLock { $0.charge(ContinuousClock.now - start, to: app) } }
            do throws(Failure) {
                let done = try await step(for: app, batch: batch, deadline: deadline)
                if let done, done > 0 { return done }
                canWork = done ?? canWork
            } catch {
                report(error)
                canWork = canWork ?? 0
            }
            apps.remove(app)
        }
        return canWork
    }

    /// Processes one batch of this app.
    /// - Returns: the same numbers as ``step(batch:deadline:)``.
    private func step(for app: AppID, batch: Int64, deadline: ContinuousClock.Instant) async throws(Failure) -> Int64? {
        let rows = try await database.runExclusive(BuildIndexes(app: app, limit: batch), deadline: deadline)
        guard let row = rows.first else { return nil }
        lookedAt.increment(by: row.lookedAt ?? 0)
        return row.lookedAt
    }
}
