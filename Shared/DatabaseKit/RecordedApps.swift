// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Logging
import NetKit
public import Postgres
public import ServiceLifecycle
public import StrataModel
import Synchronization

/// The apps whose changes may have to be recorded for webhooks. For all other apps, writing statements omit the
/// recording.
///
/// All such apps are read once a second while there are writes. If the answer is older than ``lifetime``, statements
/// ask for a recording for every app, and the database decides. The webhooks service activates a hook only after the
/// app has been listed here for longer than ``lifetime``.
public final class RecordedApps: Service {
    /// The maximum age of a cached answer.
    public static let lifetime = Duration.seconds(3)

    private struct State {
        var apps: Set<AppID> = []
        /// The time before the question was sent. nil: no answer yet.
        var askedAt: ContinuousClock.Instant?
        /// True if the apps were used since the last question.
        var isUsed = false
    }

    package typealias Read = @Sendable (ContinuousClock.Instant) async throws(PostgresError) -> Set<AppID>

    private let read: Read
    private let interval: Duration
    private let logger: Logger
    private let state = Mutex(State())
    private let uses = Wakeup()

    /// - Parameter database: a pool whose role may execute `webhooks.recorded_apps`.
    public convenience init(database: PostgresPool, logger: Logger) {
        self.init(logger: logger) { (deadline) async throws(PostgresError) -> Set<AppID> in
            Set(try await database.query(ReadRecordedApps(), deadline: deadline).map(\.appID))
        }
    }

    /// - Parameters:
    ///   - interval: the shortest interval between two readings.
    ///   - read: reads the apps until a deadline.
    package init(interval: Duration = .seconds(1), logger: Logger, read: @escaping Read) {
        (self.interval, self.logger, self.read) = (interval, logger, read)
    }

    /// True if a change of this app may have to be recorded.
    public func mayHaveHooks(_ app: AppID) -> Bool {
        let (isListed, isFirstUse) = state.withLock { state in
            defer { state.isUsed = true }
            let isValid = state.askedAt.map { .now < $0 + Self.lifetime } ?? false
            return (!isValid || state.apps.contains(app), !state.isUsed)
        }
        if isFirstUse { uses.signal() }
        return isListed
    }

    /// Reads the apps if they were used since the last reading, at most once in the interval, until the service stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                await self.uses.wait()
                if !Task.isCancelled { await self.refresh() }
            } while (try? await Task.sleep(for: self.interval)) != nil
        }
    }

    /// Reads the apps. After a failure, the cached apps stay until they expire.
    private func refresh() async {
        state.withLock { $0.isUsed = false }
        let askedAt = ContinuousClock.now
        do throws(PostgresError) {
            let apps = try await read(askedAt + Self.lifetime)
            state.withLock { ($0.apps, $0.askedAt) = (apps, askedAt) }
        } catch {
            logger.debug("reading of apps with webhooks failed", metadata: ["error.code": "\(error.code)"])
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
