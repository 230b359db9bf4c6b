// SPDX-License-Identifier: Apache-2.0

public import Logging
package import Postgres
public import ServiceLifecycle
public import StrataModel
import Synchronization

/// The directory of apps: the database in which each app lives. The databases themselves hold it (``AppPlaces``), so
/// that one that is away stops only its own apps.
public final class AppDirectory: Service {
    /// A database of the directory.
    package struct Database: Sendable {
        let name: DatabaseName
        let lists: PostgresPool
        let apps: PostgresPool

        /// Creates a database with two pools, so that lookups of unknown apps do not delay the lists.
        /// - Parameters:
        ///   - lists: a pool whose role may execute `conversations.departures`.
        ///   - apps: a pool whose role may execute `conversations.app_state`.
        package init(name: DatabaseName, lists: PostgresPool, apps: PostgresPool) {
            self.name = name
            self.lists = lists
            self.apps = apps
        }
    }

    /// The time for which a process may still serve an app after the database has listed it as a departure.
    public static let lifetime = AppPlaces.lifetime
    /// The interval between two readings of the departures, less than ``AppPlaces/lifetime``.
    private static let interval = Duration.milliseconds(300)
    /// The maximum number of lookups at a time. Requests with ids of unknown apps need no credentials.
    static let maximumLookups = 64

    let databases: [Database]
    let places: Mutex<AppPlaces>
    /// The lookups in progress, each for all callers.
    let lookups = SharedRuns<AppID, Int?>(limit: AppDirectory.maximumLookups)
    /// Databases with another name than the setting gives them. They are not used.
    let misnamed = Mutex<Set<Int>>([])
    private let logger: Logger
    /// The readings of departures in progress, at most one for each database.
    private let readings = SharedRuns<Int, Void>(limit: .max)

    /// Creates the directory of the databases of the settings. It has two connections of its own to each, because the
    /// other connections may be waiting for locks.
    /// - Parameter service: the name of the service.
    /// - Returns: nil if there is only one database.
    public static func make(
        _ settings: PostgresSettings, for service: String, logger: Logger
    ) throws -> AppDirectory? {
        if settings.others.isEmpty { return nil }
        let databases = try settings.databases.map { target -> Database in
            func pool(_ name: String) throws -> PostgresPool {
                try settings.pool(
                    "\(service)-\(name)", in: target, mode: .exclusive, connections: 1, logger: logger)
            }
            return Database(name: target.name, lists: try pool("departures"), apps: try pool("apps"))
        }
        return AppDirectory(databases, logger: logger)
    }

    /// - Parameter databases: the databases in the order of their indexes.
    package init(_ databases: [Database], logger: Logger) {
        self.databases = databases
        self.logger = logger
        places = Mutex(AppPlaces(count: databases.count))
    }

    /// The services to run, in the order of their dependencies.
    public var services: [any Service] {
        var services: [any Service] = databases.flatMap { [$0.lists, $0.apps] }
        services.append(self)
        return services
    }

    /// Returns the index of the database in which an app lives. Waits for an app that is being moved.
    /// - Returns: nil if no database has the app.
    /// - Throws: ``StrataModel/Failure/unavailable`` if the database does not answer, if the app is unknown so far and
    ///   a database does not answer, if a move takes too long, or if too many apps are being looked up.
    public func index(of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> Int? {
        while true {
            switch places.withLock({ $0.place(of: app, at: .now) }) {
            case .lives(let index): return index
            case .needsDepartures(let index): try await readDepartures(of: index)
            case .needsState: if try await find(app) == nil { return nil }
            }
            guard .now < deadline else { throw .unavailable }
        }
    }

    /// Returns the index of the database in which an app lives, if it is known without asking a database.
    public func knownIndex(of app: AppID) -> Int? {
        guard case .lives(let index) = places.withLock({ $0.place(of: app, at: .now) }) else { return nil }
        return index
    }

    /// Reads the departures of all databases periodically, until the service stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                for index in self.databases.indices {
                    group.addTask {
                        repeat {
                            // The pool logs that its database is away.
                            try? await self.readDepartures(of: index)
                        } while (try? await Task.sleep(for: Self.interval)) != nil
                    }
                }
            }
        }
    }

    // MARK: Departures

    /// Reads the departures of a database, for at most ``AppPlaces/lifetime``. Concurrent callers share a reading.
    func readDepartures(of index: Int) async throws(Failure) {
        _ = try await readings.value(for: index) { await self.departures(of: index) }
    }

    private func departures(of index: Int) async -> Result<Void, Failure> {
        do throws(Failure) {
            // Taken before the statement is queued, so the list is at least as recent as this time.
            let askedAt = ContinuousClock.now
            let row = try await departuresRow(of: databases[index], deadline: askedAt + AppPlaces.lifetime)
            try checkName(row.name, of: index)
            // An unknown state is that of a later release, in which the app is not here.
            let states = zip(row.appIDs, row.states).map { ($0, AppPlaces.State(rawValue: $1) ?? .paused) }
            let arrivals = zip(row.arrived, row.arrivedAt).map { ($0, StrataModel.Timestamp(microseconds: $1)) }
            let departures = AppPlaces.Departures(
                states: Dictionary(states) { first, _ in first }, arrivals: Dictionary(arrivals) { first, _ in first })
            places.withLock { $0.departuresRead(departures, of: index, askedAt: askedAt) }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func departuresRow(
        of database: Database, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ReadDepartures.Row {
        do throws(PostgresError) {
            guard let row = try await database.lists.query(ReadDepartures(), deadline: deadline).first else {
                throw PostgresError(code: .decoding, statement: ReadDepartures.statement.name, reason: "no row")
            }
            return row
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Checks that the database has the name that the setting gives it. Otherwise the URLs are probably swapped.
    private func checkName(_ name: String?, of index: Int) throws(Failure) {
        let expected = databases[index].name.description
        let isNew = misnamed.withLock { misnamed in
            guard name != expected else {
                misnamed.remove(index)
                return false
            }
            return misnamed.insert(index).inserted
        }
        if isNew {
            logger.error(
                "database has another name than STRATA_POSTGRES_URL gives it, and is not used",
                metadata: ["postgres.database": "\(expected)", "postgres.own_name": "\(name ?? "none")"])
        }
        guard name == expected else { throw .unavailable }
    }
}
