// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import StrataModel

/// What has to be done now and then: partitions of the change log made ahead and dropped when they are too old, expired nonces and sessions removed.
///
/// Every instance does it, at its own moments. Partitions are one instance's turn at a time; sweeping is shared.
struct Maintenance: Service {
    private let database: Database
    private let retention: Duration
    private let interval: Duration
    private let logger: Logger
    private let failures = Counter(label: "strata_conversations_maintenance_failures_total")
    private let swept = Counter(label: "strata_conversations_swept_rows_total")

    private static let sweepBatch: Int64 = 2000
    /// For each step of a turn.
    private static let stepTime = Duration.seconds(60)
    /// For the statement that is under way when that is over: as long as the database lets it run.
    private static let statementTime = Duration.seconds(30)

    init(database: Database, retention: Duration, interval: Duration, logger: Logger) {
        self.database = database
        self.retention = retention
        self.interval = interval
        self.logger = logger
    }

    /// Works until the service stops. Failures are logged, and tried again at the next turn.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Instances started together do not come together; partitions exist for days ahead, so nothing is urgent.
            var pause = interval * Double.random(in: 0.01...0.2)
            while (try? await Task.sleep(for: pause)) != nil {
                await turn()
                pause = interval * Double.random(in: 0.8...1.2)
            }
        }
    }

    /// Everything once. A step that fails is no reason to leave out another one.
    func turn() async {
        var failed: [(step: String, failure: Failure)] = []
        do throws(Failure) { try await maintainPartitions(deadline: .now + Self.stepTime) } catch { failed.append(("partitions", error)) }
        for step in sweepingSteps where !Task.isCancelled {
            do throws(Failure) { _ = try await step.sweep(.now + Self.stepTime) } catch { failed.append((step.name, error)) }
        }
        guard let first = failed.first else { return }
        // Once for the turn: an outage, in which every step fails, is one failure.
        failures.increment()
        logger.warning(
            "maintenance could not be done",
            metadata: ["maintenance.steps": "\(failed.map(\.step).joined(separator: ","))", "error.code": "\(first.failure.code.id)"])
    }

    /// Makes the partitions of the weeks to come and drops those older than the retention time. While another instance is at it, does nothing.
    func maintainPartitions(deadline: ContinuousClock.Instant) async throws(Failure) {
        _ = try await database.runAlone(MaintainPartitions(retention: retention.components.seconds), deadline: deadline)
    }

    /// Removes everything that has expired, in batches, so that no transaction becomes long.
    /// - Returns: the rows removed.
    @discardableResult
    func sweep(deadline: ContinuousClock.Instant) async throws(Failure) -> Int64 {
        var total: Int64 = 0
        for step in sweepingSteps { total += try await step.sweep(deadline) }
        return total
    }

    /// What removes things of one kind until a moment, and returns how many rows went.
    private struct SweepingStep {
        let name: String
        let sweep: (ContinuousClock.Instant) async throws(Failure) -> Int64
    }

    private var sweepingSteps: [SweepingStep] {
        let (seconds, limit) = (retention.components.seconds, Self.sweepBatch)
        return [
            step("accounts", SweepAccounts(limit: limit)), step("identities", SweepIdentities(limit: limit)),
            step("logs", SweepLogs(retention: seconds, limit: limit)), step("deleted", SweepDeleted(retention: seconds, limit: limit)),
            step("mutations", SweepMutations(retention: seconds, limit: limit)), step("trees", SweepTrees(limit: limit)),
            step("additions", SweepAdditions(limit: limit)),
        ]
    }

    private func step<Query: PostgresQuery>(_ name: String, _ query: Query) -> SweepingStep where Query.Columns == SweepColumns {
        SweepingStep(name: name) { (deadline) async throws(Failure) -> Int64 in try await sweep(query, deadline: deadline) }
    }

    /// Repeats a query until nothing is left to be done, or until the deadline: the rest is for the next turn.
    private func sweep<Query: PostgresQuery>(
        _ query: Query, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Int64 where Query.Columns == SweepColumns {
        var total: Int64 = 0
        while ContinuousClock.now < deadline {
            let rows = try await database.runAlone(query, deadline: deadline + Self.statementTime)
            let (lookedAt, removed): (Int64, Int64)
            do throws(PostgresError) {
                guard let row = rows.first else { return total }
                let columns = try rows.columns(of: Query.self)
                (lookedAt, removed) = (try row[columns.lookedAt], try row[columns.removed])
            } catch {
                throw Failure(postgres: error)
            }
            if lookedAt == 0 { return total }
            total += removed
            swept.increment(by: removed)
        }
        return total
    }
}

/// Of the statements that remove what has expired.
struct SweepColumns: ColumnSet {
    /// 0: nothing is left to be done.
    let lookedAt: Column<Int64>
    let removed: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        lookedAt = try names.column("looked_at")
        removed = try names.column("removed")
    }
}

/// Makes the partitions that are needed next, and drops those that are not any more.
struct MaintainPartitions: PostgresQuery {
    /// The seconds to keep.
    let retention: Int64

    typealias Columns = NoColumns

    static let statement = Statement(
        "maintenance.partitions", sql: "SELECT conversations.maintain_partitions($1::int8 * interval '1 second')", isIdempotent: true)

    var parameters: [Value] { [.int8(retention)] }
}

/// Removes trees of metadata that are needed no more.
struct SweepTrees: PostgresQuery {
    /// The most rows.
    let limit: Int64

    typealias Columns = SweepColumns

    static let statement = Statement(
        "maintenance.trees", sql: "SELECT s AS looked_at, s AS removed FROM metadata.sweep($1::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}

/// Removes counts of additions to conversations whose hour is over.
struct SweepAdditions: PostgresQuery {
    /// The most rows.
    let limit: Int64

    typealias Columns = SweepColumns

    static let statement = Statement(
        "maintenance.additions", sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep_additions($1::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }
}

/// Removes the names of changes that are old.
struct SweepMutations: PostgresQuery {
    /// The seconds to keep.
    let retention: Int64
    /// The most rows.
    let limit: Int64

    typealias Columns = SweepColumns

    static let statement = Statement(
        "maintenance.mutations",
        sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep_mutations($1::int8 * interval '1 second', $2::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(retention), .int8(limit)] }
}

/// Removes what is older than the log.
struct SweepLogs: PostgresQuery {
    /// The seconds to keep.
    let retention: Int64
    /// The most rows of each kind.
    let limit: Int64

    typealias Columns = SweepColumns

    static let statement = Statement(
        "maintenance.logs", sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep($1::int8 * interval '1 second', $2::int8) s",
        isIdempotent: true)

    var parameters: [Value] { [.int8(retention), .int8(limit)] }
}

/// Removes what is left of conversations that were deleted before the log begins.
struct SweepDeleted: PostgresQuery {
    /// The seconds to keep.
    let retention: Int64
    /// The most rows of each kind.
    let limit: Int64

    typealias Columns = SweepColumns

    static let statement = Statement(
        "maintenance.deleted",
        sql: "SELECT s AS looked_at, s AS removed FROM conversations.sweep_deleted($1::int8 * interval '1 second', $2::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(retention), .int8(limit)] }
}
