// SPDX-License-Identifier: Apache-2.0

import Metrics
public import Postgres
public import ServiceLifecycle
public import StrataModel
import Synchronization

/// Which history of the database this is: shown with every conversation, and another one after the database was restored to an older state.
///
/// The database decides (`conversations.check_epoch`). It is asked every two seconds while the service runs, and in between its last answer is used.
public final class EpochSource: Service {
    /// How long after a restore the old epoch may still be shown.
    public static let lifetime = Duration.seconds(10)
    /// How often the database is asked.
    private static let interval = Duration.seconds(2)

    private struct Known {
        var value: String
        /// How far the write-ahead log reached.
        var reached: Int64?
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

    /// The epoch as it was told last; empty before the first time.
    public var known: String { state.withLock { $0?.value ?? "" } }

    /// The epoch now.
    public func current(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        if let known = state.withLock({ $0 }), .now < known.askedAt + Self.lifetime { return known.value }
        return try await check(deadline: deadline)
    }

    /// The query by which the database says what it makes of what is known here.
    package var question: CheckEpoch {
        let known = state.withLock { $0 }
        return CheckEpoch(epoch: known?.value, reached: known?.reached)
    }

    /// Asks the database.
    public func check(deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let askedAt = ContinuousClock.now
        do throws(PostgresError) {
            let rows = try await database.query(question, deadline: deadline)
            guard let row = rows.first else { throw PostgresError(code: .decoding, statement: CheckEpoch.statement.name, reason: "no row") }
            let columns = try rows.columns(of: CheckEpoch.self)
            let new = Known(value: try row[columns.epoch], reached: try row[optional: columns.reached], askedAt: askedAt)
            state.withLock { known in
                // Of several answers that are under way the latest counts.
                if let known, known.askedAt > askedAt { return }
                known = new
            }
            checks.increment()
            return new.value
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Asks now and then, until the service stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { _ = try? await self.check(deadline: .now + Self.interval) } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }
}

package struct EpochCheckColumns: ColumnSet {
    package let epoch: Column<String>
    /// How far the write-ahead log reaches; null if the role may not know.
    package let reached: Column<Int64>

    /// Looks up the columns.
    package init(_ names: inout ColumnNames) throws(PostgresError) {
        epoch = try names.column("epoch")
        reached = try names.column("reached")
    }
}

package struct CheckEpoch: PostgresQuery {
    /// The one that this process knows; nil: none.
    package let epoch: String?
    /// How far the write-ahead log reached then.
    package let reached: Int64?

    package typealias Columns = EpochCheckColumns

    package static let statement = Statement(
        "epoch.check", sql: "SELECT epoch, reached FROM conversations.check_epoch($1::text, $2::int8)", isIdempotent: true)

    /// In the order of the statement.
    package var parameters: [Value] { [Value(epoch), Value(reached)] }

    /// Of these parameters.
    package init(epoch: String?, reached: Int64?) {
        self.epoch = epoch
        self.reached = reached
    }
}
