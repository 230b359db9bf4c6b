// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import Metrics
import ServiceLifecycle
import StrataModel

/// A service that removes the bytes of unreferenced content, and those that crashed uploads left.
///
/// Every gateway runs it, at random times. Concurrent runs are harmless.
struct ContentSweeper: Service {
    let services: GatewayServices
    let store: any ContentStore
    let age: Duration
    let logger: Logger

    private let swept = Counter(label: "strata_gateway_contents_swept_total")
    private let failures = Counter(label: "strata_gateway_content_sweep_failures_total")

    /// The maximum interval between sweeps. A shorter content age is the interval.
    private static let longestPause = Duration.seconds(3600)
    private static let leftoverPause = Duration.seconds(86_400)
    private static let batch = 500

    init(services: GatewayServices, store: any ContentStore, age: Duration, logger: Logger) {
        self.services = services
        self.store = store
        self.age = age
        self.logger = logger
    }

    /// Runs until the service stops. Failures are logged and retried in the next sweep.
    func run() async throws {
        let interval = min(age, Self.longestPause)
        await cancelWhenGracefulShutdown {
            var pause = interval * Double.random(in: 0.01...0.2)
            var nextLeftovers = ContinuousClock.now
            while (try? await Task.sleep(for: pause)) != nil {
                if ContinuousClock.now >= nextLeftovers {
                    await removeLeftovers()
                    nextLeftovers = .now + Self.leftoverPause
                }
                await turn()
                pause = interval * Double.random(in: 0.8...1.2)
            }
        }
    }

    private func turn() async {
        for database in services.settings.databases where !Task.isCancelled {
            do throws(Failure) {
                try await sweep(database)
            } catch {
                failures.increment()
                logger.warning(
                    "removal of unreferenced content failed",
                    metadata: ["error.code": "\(error.code.id)", "postgres.database": "\(database)"])
            }
        }
    }

    /// Removes all unreferenced content of a database. Records are removed after the bytes, so that no bytes remain
    /// without a record.
    private func sweep(_ database: DatabaseName) async throws(Failure) {
        while true {
            let doomed = try await services.sweepContents(of: database, age: age, limit: Self.batch)
            for id in doomed {
                do throws(ContentStoreError) {
                    try await store.remove(id)
                } catch {
                    throw error.failure(logger: logger)
                }
            }
            if !doomed.isEmpty { try await services.forgetContents(doomed, of: database) }
            swept.increment(by: Int64(doomed.count))
            if doomed.count < Self.batch { return }
        }
    }

    private func removeLeftovers() async {
        do throws(ContentStoreError) {
            let count = try await store.removeLeftovers()
            if count > 0 {
                logger.info("unfinished uploads removed", metadata: ["content.count": "\(count)"])
            }
        } catch {
            failures.increment()
            _ = error.failure(logger: logger)
        }
    }
}
