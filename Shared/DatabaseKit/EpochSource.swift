// SPDX-License-Identifier: Apache-2.0

import Metrics
public import Postgres
public import ServiceLifecycle
public import StrataModel
import Synchronization

/// The epoch of the database: the name of its history. It is shown with every conversation, and changes after the
/// database was restored to an older state.
///
/// The database decides with `conversations.check_epoch`. A service asks every two seconds while it runs, and uses the
/// last answer in between.
public final class EpochSource: Service {
    /// The maximum age of a cached epoch. An old epoch may be shown for this long after a restore.
    public static let lifetime = Duration.seconds(10)
    private static let interval = Duration.seconds(2)

    private struct Known {
        var value: String
        /// The end of the write-ahead log when the epoch was read.
        var walEnd: Int64?
        var askedAt: ContinuousClock.Instant
    }

    private let database: PostgresPool
    private let state = Mutex<Known?>(nil)
    private let checks: Counter

    /// - Parameters:
    ///   - database: a pool whose role may execute `conversations.check_epoch`.
    ///   - counter: the metric that counts the answers, such as `strata_metadata_epoch_checks_total`.
    public init(database: PostgresPool, counter: String) {
        self.database = database
        checks = Counter(label: counter)
    }

    /// The epoch of the last answer. Empty before the first answer.
    public var known: String { state.withLock { $0?.value ?? "" } }

    /// Returns the cached epoch, or asks the database if the cache is older than ``lifetime``.
    public func current(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        if let known = state.withLock({ $0 }), .now < known.askedAt + Self.lifetime { return known.value }
        return try await check(deadline: deadline)
    }

    /// The query that checks the cached epoch against the database.
    package var checkQuery: CheckEpoch {
        let known = state.withLock { $0 }
        return CheckEpoch(epoch: known?.value, walEnd: known?.walEnd)
    }

    /// Asks the database for its epoch and caches the answer.
    public func check(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let askedAt = ContinuousClock.now
        do throws(PostgresError) {
            let rows = try await database.query(checkQuery, deadline: deadline)
            guard let row = rows.first else {
                throw PostgresError(code: .decoding, statement: CheckEpoch.statement.name, reason: "no row")
            }
            let new = Known(value: row.epoch, walEnd: row.reached, askedAt: askedAt)
            state.withLock { known in
                // If several answers are in flight, the one to the latest query counts.
                if let known, known.askedAt > askedAt { return }
                known = new
            }
            checks.increment()
            return new.value
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Checks the epoch every two seconds, until the service stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                _ = try? await self.check(deadline: .now + Self.interval)
            } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }
}

package struct CheckEpoch: PostgresQuery {
    /// The epoch that this process has cached. nil: none.
    package let epoch: String?
    /// The end of the write-ahead log when `epoch` was read.
    package let walEnd: Int64?

    package static let statement = Statement(
        "epoch.check", sql: "SELECT epoch, reached FROM conversations.check_epoch($1::text, $2::int8)",
        isIdempotent: true)

    package var parameters: [Value] { [Value(epoch), Value(walEnd)] }

    package struct Row: Decodable, Sendable {
        package let epoch: String
        /// The end of the write-ahead log. nil: the role has no permission to read it.
        package let reached: Int64?
    }

    package init(epoch: String?, walEnd: Int64?) {
        self.epoch = epoch
        self.walEnd = walEnd
    }
}
