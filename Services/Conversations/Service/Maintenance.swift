// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel

/// Periodic maintenance: creates partitions of the change log ahead of time, drops expired ones, and deletes expired
/// rows such as nonces and sessions.
///
/// Every instance runs it at its own times. One instance at a time maintains partitions; all instances share the
/// sweeping.
struct Maintenance: Service {
    private let database: Database
    private let retention: Duration
    private let interval: Duration
    private let logger: Logger
    private let failures = Counter(label: "strata_conversations_maintenance_failures_total")
    private let swept = Counter(label: "strata_conversations_swept_rows_total")

    private static let sweepBatch: Int64 = 2000
    private static let stepTime = Duration.seconds(60)
    /// The additional time for a statement that runs when the step ends: the database's statement timeout.
    private static let statementTime = Duration.seconds(30)

    init(database: Database, retention: Duration, interval: Duration, logger: Logger) {
        self.database = database
        self.retention = retention
        self.interval = interval
        self.logger = logger
    }

    /// Works until the service stops. It logs a failure and retries in the next turn.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Spread the first turns of instances that start together. Partitions exist for days ahead, so a delay is
            // harmless.
            var pause = interval * Double.random(in: 0.01...0.2)
            while (try? await Task.sleep(for: pause)) != nil {
                await turn()
                pause = interval * Double.random(in: 0.8...1.2)
            }
        }
    }

    /// Runs each step once. A failed step does not prevent the others.
    func turn() async {
        var failed: [(step: String, failure: Failure)] = []
        do throws(Failure) { try await maintainPartitions(deadline: .now + Self.stepTime) } catch {
            failed.append(("partitions", error))
        }
        for step in sweepingSteps where !Task.isCancelled {
            do throws(Failure) { _ = try await step.sweep(.now + Self.stepTime) } catch {
                failed.append((step.name, error))
            }
        }
        guard let first = failed.first else { return }
        // Count one failure for a turn, because all steps fail together during an outage.
        failures.increment()
        logger.warning(
            "maintenance failed",
            metadata: [
                "maintenance.steps": "\(failed.map(\.step).joined(separator: ","))",
                "error.code": "\(first.failure.code.id)",
            ])
    }

    /// Creates the partitions of the next weeks and drops those older than the retention time. Does nothing while
    /// another instance does the same.
    func maintainPartitions(deadline: ContinuousClock.Instant) async throws(Failure) {
        _ = try await database.runExclusive(
            MaintainPartitions(retention: retention.components.seconds), deadline: deadline)
    }

    /// Deletes expired rows in batches, so that transactions are short.
    /// - Returns: the number of deleted rows.
    @discardableResult
    func sweep(deadline: ContinuousClock.Instant) async throws(Failure) -> Int64 {
        var total: Int64 = 0
        for step in sweepingSteps { total += try await step.sweep(deadline) }
        return total
    }

    /// A step that deletes expired rows of one kind until a deadline, and returns their number.
    private struct SweepingStep {
        let name: String
        let sweep: (ContinuousClock.Instant) async throws(Failure) -> Int64
    }

    private var sweepingSteps: [SweepingStep] {
        let (seconds, limit) = (retention.components.seconds, Self.sweepBatch)
        return [
            step("accounts", SweepAccounts(limit: limit)), step("identities", SweepIdentities(limit: limit)),
            step("logs", SweepLogs(retention: seconds, limit: limit)),
            step("deleted", SweepDeleted(retention: seconds, limit: limit)),
            step("mutations", SweepMutations(retention: seconds, limit: limit)),
            step("trees", SweepTrees(limit: limit)),
            step("additions", SweepAdditions(limit: limit)),
        ]
    }

    private func step<Query: PostgresQuery>(_ name: String, _ query: Query) -> SweepingStep
    where Query.Row == SweepRow {
        SweepingStep(name: name) { (deadline) async throws(Failure) -> Int64 in
            try await sweep(query, deadline: deadline)
        }
    }

    /// Repeats a query until no rows are left, or until the deadline. The next turn does the rest.
    private func sweep<Query: PostgresQuery>(
        _ query: Query, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Int64 where Query.Row == SweepRow {
        var total: Int64 = 0
        while ContinuousClock.now < deadline {
            let rows = try await database.runExclusive(query, deadline: deadline + Self.statementTime)
            guard let row = rows.first, row.lookedAt > 0 else { return total }
            total += row.removed
            swept.increment(by: row.removed)
        }
        return total
    }
}

/// The row of the sweeping statements.
struct SweepRow: Decodable {
    /// The number of processed rows. 0: none are left.
    let lookedAt: Int64
    let removed: Int64
}

/// Creates the partitions that are needed next, and drops expired ones.
struct MaintainPartitions: PostgresQuery {
    /// The retention time in seconds.
    let retention: Int64

    static let statement = Statement(
        "maintenance.partitions", sql: "SELECT conversations.maintain_partitions($1::int8 * interval '1 second')",
        isIdempotent: true)

    var parameters: [Value] { [.int8(retention)] }
}

/// Deletes metadata trees that are no longer needed.
struct SweepTrees: PostgresQuery {
    let limit: Int64

    typealias Row = SweepRow

    static let statement = Statement(
        "maintenance.trees", sql: "SELECT s AS looked_at, s AS removed FROM metadata.sweep($1::int8) s",
        isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}

/// Deletes counts of additions whose hour is over.
struct SweepAdditions: PostgresQuery {
    let limit: Int64

    typealias Row = SweepRow

    static let statement = Statement(
        "maintenance.additions",
        sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep_additions($1::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}

/// Deletes expired idempotency keys.
struct SweepMutations: PostgresQuery {
    /// The retention time in seconds.
    let retention: Int64
    let limit: Int64

    typealias Row = SweepRow

    static let statement = Statement(
        "maintenance.mutations",
        sql: """
            SELECT s AS looked_at, s AS removed
            FROM conversations.sweep_mutations($1::int8 * interval '1 second', $2::int8) s
            """,
        isIdempotent: true)

    var parameters: [Value] { [.int8(retention), .int8(limit)] }
}

/// Deletes rows that are older than the log.
struct SweepLogs: PostgresQuery {
    /// The retention time in seconds.
    let retention: Int64
    /// The maximum number of rows of each kind.
    let limit: Int64

    typealias Row = SweepRow

    static let statement = Statement(
        "maintenance.logs",
        sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep($1::int8 * interval '1 second', $2::int8) s",
        isIdempotent: true)

    var parameters: [Value] { [.int8(retention), .int8(limit)] }
}

/// Deletes the remaining rows of conversations that were deleted before the log begins.
struct SweepDeleted: PostgresQuery {
    /// The retention time in seconds.
    let retention: Int64
    /// The maximum number of rows of each kind.
    let limit: Int64

    typealias Row = SweepRow

    static let statement = Statement(
        "maintenance.deleted",
        sql: """
            SELECT s AS looked_at, s AS removed
            FROM conversations.sweep_deleted($1::int8 * interval '1 second', $2::int8) s
            """,
        isIdempotent: true)

    var parameters: [Value] { [.int8(retention), .int8(limit)] }
}

/// The order in which a background task serves apps: the app with the shortest service time is next. So an app with
/// slow or endless work leaves each other app the same share of time.
///
/// Times are parameters, so this is a pure value.
struct AppTurns: Sendable {
    /// The service times of apps, if above ``floor``.
    private var served: [AppID: Duration] = [:]
    /// The service time of the last served app. An app with new work starts at this time, so it has no claim to earlier
    /// time.
    private var floor = Duration.zero

    /// Returns the next app, or nil if `apps` is empty.
    /// - Parameter apps: the apps with work.
    mutating func next(among apps: some Collection<AppID>) -> AppID? {
        guard let (app, time) = apps.map({ ($0, served[$0] ?? floor) }).min(by: { $0.1 < $1.1 }) else {
            self = AppTurns()
            return nil
        }
        floor = time
        served = served.filter { $0.value > time }
        return app
    }

    /// Adds the duration of a turn to the app's service time.
    mutating func charge(_ duration: Duration, to app: AppID) { served[app] = (served[app] ?? floor) + duration }
}
