// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Logging
public import Postgres
public import ServiceLifecycle
public import StrataModel
import Synchronization

/// The apps whose changes may have to be recorded for webhooks. For all other apps, writing statements omit the
/// recording.
///
/// All such apps are read once a second. If the answer is older than ``lifetime``, statements ask for a recording for
/// every app, and the database decides. The webhooks service activates a hook only after the app has been listed here
/// for longer than ``lifetime``.
public final class RecordedApps: Service {
    /// The maximum age of a cached answer.
    public static let lifetime = Duration.seconds(3)
    private static let interval = Duration.seconds(1)

    private struct Known {
        var apps: Set<AppID>
        /// The time before the question was sent.
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

    /// True if a change of this app may have to be recorded.
    public func mayHaveHooks(_ app: AppID) -> Bool {
        state.withLock { known in
            guard let known, .now < known.askedAt + Self.lifetime else { return true }
            return known.apps.contains(app)
        }
    }

    /// Reads the apps from the database.
    /// - Throws: an error if the database does not answer. The cached apps then stay until they expire.
    public func refresh(deadline: ContinuousClock.Instant) async throws(PostgresError) {
        let askedAt = ContinuousClock.now
        let rows = try await database.query(ReadRecordedApps(), deadline: deadline)
        let new = Known(apps: Set(rows.map(\.appID)), askedAt: askedAt)
        state.withLock { known in
            // If several answers are in flight, the one to the latest question counts.
            if let known, known.askedAt > askedAt { return }
            known = new
        }
    }

    /// Reads the apps once a second, until the service stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                do throws(PostgresError) {
                    try await self.refresh(deadline: .now + Self.lifetime)
                } catch {
                    self.logger.debug(
                        "reading of apps with webhooks failed", metadata: ["error.code": "\(error.code)"])
                }
            } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }
}

/// Reads the apps with a hook that is active or about to become active.
package struct ReadRecordedApps: PostgresQuery {
    package static let statement = Statement(
        "webhooks.recorded_apps", sql: "SELECT app_id FROM webhooks.recorded_apps()", isIdempotent: true)

    package var parameters: [Value] { [] }

    package struct Row: Decodable, Sendable {
        let appID: AppID
    }

    package init() {}
}
