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
///
/// An app that was moved here from another database keeps the epoch that its clients know, until the epoch of this
/// database changes.
public final class EpochSource: Service {
    /// The maximum age of a cached epoch. An old epoch may be shown for this long after a restore.
    public static let lifetime = Duration.seconds(10)
    private static let interval = Duration.seconds(2)

    private struct Known {
        var value: String
        /// The end of the write-ahead log when the epoch was read.
        var walEnd: Int64?
        /// The epochs of apps that were moved here.
        var moved: [AppID: String]
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
        try await latest(deadline: deadline).value
    }

    /// Returns the epoch that clients of an app see, like ``current(deadline:)``.
    public func current(for app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let known = try await latest(deadline: deadline)
        return known.moved[app] ?? known.value
    }

    /// Returns the epoch that clients of an app see while the database has this epoch.
    public func shown(
        _ epoch: String, to app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> String {
        let known = try await latest(deadline: deadline)
        return known.value == epoch ? known.moved[app] ?? epoch : epoch
    }

    private func latest(deadline: ContinuousClock.Instant) async throws(Failure) -> Known {
        if let known = state.withLock({ $0 }), .now < known.askedAt + Self.lifetime { return known }
        return try await read(deadline: deadline)
    }

    /// The query that checks the cached epoch against the database.
    package var checkQuery: CheckEpoch {
        let known = state.withLock { $0 }
        return CheckEpoch(epoch: known?.value, walEnd: known?.walEnd)
    }

    /// Asks the database for its epoch and caches the answer.
    public func check(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        try await read(deadline: deadline).value
    }

    private func read(deadline: ContinuousClock.Instant) async throws(Failure) -> Known {
        let askedAt = ContinuousClock.now
        do throws(PostgresError) {
            let rows = try await database.query(checkQuery, deadline: deadline)
            guard let row = rows.first else {
                throw PostgresError(code: .decoding, statement: CheckEpoch.statement.name, reason: "no row")
            }
            let moved = Dictionary(zip(row.appIDs, row.appEpochs)) { first, _ in first }
            let new = Known(value: row.epoch, walEnd: row.reached, moved: moved, askedAt: askedAt)
            state.withLock { known in
                // If several answers are in flight, the one to the latest query counts.
                if let known, known.askedAt > askedAt { return }
                known = new
            }
            checks.increment()
            return new
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
        "epoch.check",
        sql: """
            SELECT c.epoch, c.reached, e.app_ids, e.epochs AS app_epochs
            FROM conversations.check_epoch($1::text, $2::int8) c, LATERAL conversations.app_epochs(c.epoch) e
            """, isIdempotent: true)

    package var parameters: [Value] { [Value(epoch), Value(walEnd)] }

    package struct Row: Decodable, Sendable {
        package let epoch: String
        /// The end of the write-ahead log. nil: the role has no permission to read it.
        package let reached: Int64?
        /// The apps that were moved here, and the epochs that their clients see.
        package let appIDs: [AppID]
        package let appEpochs: [String]
    }

    package init(epoch: String?, walEnd: Int64?) {
        self.epoch = epoch
        self.walEnd = walEnd
    }
}
