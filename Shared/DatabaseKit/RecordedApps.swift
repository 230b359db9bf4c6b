// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Logging
public import Postgres
public import ServiceLifecycle
public import StrataModel
import Synchronization

/// For which apps changes may have to be recorded for webhooks. For all others a writing statement is the one that it would be if there were no webhooks.
///
/// All such apps are read once a second. An answer that is older than ``lifetime`` says nothing any more: then changes of every app are asked to be recorded,
/// and the database decides. The webhooks service lets a hook become active only when longer than that has passed since an app was first named here.
public final class RecordedApps: Service {
    /// For how long an answer of the database is used.
    public static let lifetime = Duration.seconds(3)
    /// How often the database is asked.
    private static let interval = Duration.seconds(1)

    private struct Known {
        var apps: Set<AppID>
        /// Before the question was sent.
        var askedAt: ContinuousClock.Instant
    }

    private let database: PostgresPool
    private let logger: Logger
    private let state = Mutex<Known?>(nil)

    /// - Parameter database: a pool whose role may execute `webhooks.recorded_apps`.
    public init(database: PostgresPool, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    /// Whether a change of this app may have to be recorded.
    public func mayHaveHooks(_ app: AppID) -> Bool {
        state.withLock { known in
            guard let known, .now < known.askedAt + Self.lifetime else { return true }
            return known.apps.contains(app)
        }
    }

    /// Asks the database.
    /// - Throws: if it does not answer; then what is known stays until it is too old.
    public func refresh(deadline: ContinuousClock.Instant) async throws(PostgresError) {
        let askedAt = ContinuousClock.now
        let rows = try await database.query(ReadRecordedApps(), deadline: deadline)
        let columns = try rows.columns(of: ReadRecordedApps.self)
        var apps: Set<AppID> = []
        for row in rows { apps.insert(AppID(rawValue: try row[columns.app])) }
        let new = Known(apps: apps, askedAt: askedAt)
        state.withLock { known in
            // Of several answers that are under way the latest counts.
            if let known, known.askedAt > askedAt { return }
            known = new
        }
    }

    /// Asks once a second, until the service stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                do throws(PostgresError) {
                    try await self.refresh(deadline: .now + Self.lifetime)
                } catch {
                    self.logger.debug("which apps have webhooks could not be read", metadata: ["error.code": "\(error.code)"])
                }
            } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }
}

package struct RecordedAppsColumns: ColumnSet {
    let app: Column<UUID>

    package init(_ names: inout ColumnNames) throws(PostgresError) {
        app = try names.column("app_id")
    }
}

/// The apps with a hook that is active, or about to be.
package struct ReadRecordedApps: PostgresQuery {
    package typealias Columns = RecordedAppsColumns

    package static let statement = Statement("webhooks.recorded_apps", sql: "SELECT app_id FROM webhooks.recorded_apps()", isIdempotent: true)

    /// None.
    package var parameters: [Value] { [] }

    package init() {}
}
