// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
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
        let pool: PostgresPool

        /// - Parameter pool: a pool whose role may execute `conversations.departures` and `conversations.app_state`.
        package init(name: DatabaseName, pool: PostgresPool) {
            self.name = name
            self.pool = pool
        }
    }

    /// The time for which a process may still serve an app after the database has listed it as a departure.
    public static let lifetime = AppPlaces.lifetime
    /// The interval between two readings of the departures, less than ``AppPlaces/lifetime``.
    private static let interval = Duration.milliseconds(300)
    /// The time for which a call waits for an app that is being moved.
    private static let patience = Duration.seconds(4)
    /// The interval at which such a call looks for the app.
    private static let pause = Duration.milliseconds(50)

    private let databases: [Database]
    private let logger: Logger
    private let places: Mutex<AppPlaces>
    /// The lookups in progress, each for all callers.
    private let lookups = Mutex<[AppID: Task<Result<Int?, Failure>, Never>]>([:])
    /// Databases with another name than the setting gives them. They are not used.
    private let misnamed = Mutex<Set<Int>>([])

    /// Creates the directory of the databases of the settings. It has a connection of its own to each, because the
    /// other connections may be waiting for locks.
    /// - Parameter service: the name of the service.
    /// - Returns: nil if there is only one database.
    public static func make(
        _ settings: PostgresSettings, for service: String, logger: Logger
    ) throws -> AppDirectory? {
        if settings.others.isEmpty { return nil }
        let databases = try settings.databases.map { target in
            Database(
                name: target.name,
                pool: try settings.pool(
                    "\(service)-apps", in: target, mode: .exclusive, connections: 1, logger: logger))
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
        var services: [any Service] = databases.map { $0.pool }
        services.append(self)
        return services
    }

    /// Returns the index of the database in which an app lives. Waits for an app that is being moved.
    /// - Returns: nil if no database has the app.
    /// - Throws: ``StrataModel/Failure/unavailable`` if the database does not answer, if the app is unknown so far and
    ///   a database does not answer, or if a move takes too long.
    public func index(of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> Int? {
        while true {
            switch places.withLock({ $0.place(of: app, at: .now) }) {
            case .lives(let index): return index
            case .needsDepartures(let index): try await readDepartures(of: index, deadline: deadline)
            case .needsState: if try await find(app) == nil { return nil }
            }
            guard .now < deadline else { throw .unavailable }
        }
    }

    /// Reads the departures of all databases periodically, until the service stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                for index in self.databases.indices {
                    group.addTask {
                        repeat {
                            // The pool logs that its database is away.
                            try? await self.readDepartures(of: index, deadline: .now + AppPlaces.lifetime)
                        } while (try? await Task.sleep(for: Self.interval)) != nil
                    }
                }
            }
        }
    }

    // MARK: Departures

    private func readDepartures(of index: Int, deadline: ContinuousClock.Instant) async throws(Failure) {
        let (database, askedAt) = (databases[index], ContinuousClock.now)
        let row: ReadDepartures.Row
        do throws(PostgresError) {
            guard let first = try await database.pool.query(ReadDepartures(), deadline: deadline).first else {
                throw PostgresError(code: .decoding, statement: ReadDepartures.statement.name, reason: "no row")
            }
            row = first
        } catch {
            throw Failure(postgres: error)
        }
        try checkName(row.name, of: index)
        // An unknown state is that of a later release, in which the app is not here.
        let states = zip(row.appIDs, row.states).map { ($0, AppPlaces.State(rawValue: $1) ?? .paused) }
        let arrivals = zip(row.arrived, row.arrivedAt).map { ($0, StrataModel.Timestamp(microseconds: $1)) }
        let departures = AppPlaces.Departures(
            states: Dictionary(states) { first, _ in first }, arrivals: Dictionary(arrivals) { first, _ in first })
        places.withLock { $0.departuresRead(departures, of: index, askedAt: askedAt) }
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

    // MARK: One app

    private enum Found {
        case lives(Int)
        /// The app is being moved, and lives in no database.
        case inTransit
        case unknown
    }

    /// Finds an app, and waits while it is being moved. Concurrent callers share a lookup.
    /// - Returns: nil if no database has the app.
    private func find(_ app: AppID, isRepeated: Bool = false) async throws(Failure) -> Int? {
        let (lookup, isShared) = lookups.withLock { lookups in
            if let running = lookups[app] { return (running, true) }
            let lookup = Task {
                let result = await self.lookUp(app)
                self.lookups.withLock { $0[app] = nil }
                return result
            }
            lookups[app] = lookup
            return (lookup, false)
        }
        // The app may have been created after a shared lookup began.
        if let index = try await lookup.value.get() { return index }
        return isShared && !isRepeated ? try await find(app, isRepeated: true) : nil
    }

    private func lookUp(_ app: AppID) async -> Result<Int?, Failure> {
        let end = ContinuousClock.now + Self.patience
        do throws(Failure) {
            while true {
                switch try await ask(for: app, deadline: end) {
                case .unknown: return .success(nil)
                case .lives(let index):
                    // The known departures can be older than the answer, and still name the app.
                    try await readDepartures(of: index, deadline: end)
                    places.withLock { $0.found(app, in: index) }
                    return .success(index)
                case .inTransit:
                    guard .now < end, (try? await Task.sleep(for: Self.pause)) != nil else { throw .unavailable }
                }
            }
        } catch {
            return .failure(error)
        }
    }

    /// Asks all databases for an app.
    /// - Throws: ``StrataModel/Failure/unavailable`` if no answer finds the app and an answer is missing.
    private func ask(for app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> Found {
        let unused = misnamed.withLock { $0 }
        let found = await withTaskGroup(
            of: (index: Int, state: AppPlaces.State?, isMissing: Bool).self, returning: Result<Found, Failure>.self
        ) { group in
            for (index, database) in databases.enumerated() where !unused.contains(index) {
                group.addTask {
                    do {
                        let rows = try await database.pool.query(ReadAppState(app: app), deadline: deadline)
                        return (index, rows.first?.state.map { AppPlaces.State(rawValue: $0) ?? .paused }, false)
                    } catch {
                        return (index, nil, true)
                    }
                }
            }
            var (isInTransit, isMissing) = (false, !unused.isEmpty)
            for await answer in group {
                if answer.state == .here {
                    group.cancelAll()
                    return .success(.lives(answer.index))
                }
                // An app that only `moved` names was deleted after its move.
                isInTransit = isInTransit || answer.state == .paused || answer.state == .arriving
                isMissing = isMissing || answer.isMissing
            }
            if isInTransit { return .success(.inTransit) }
            return isMissing ? .failure(.unavailable) : .success(.unknown)
        }
        return try found.get()
    }
}

/// Reads the name of the database, the apps that it does not serve although it has rows of them, and those that have
/// arrived from another database.
package struct ReadDepartures: PostgresQuery {
    package static let statement = Statement(
        "directory.departures",
        sql: "SELECT d.name, d.app_ids, d.states, d.arrived, d.arrived_at FROM conversations.departures() d",
        isIdempotent: true)

    package var parameters: [Value] { [] }

    package struct Row: Decodable, Sendable {
        /// nil: the database has no name.
        let name: String?
        let appIDs: [AppID]
        let states: [String]
        let arrived: [AppID]
        /// Microseconds since 1970.
        let arrivedAt: [Int64]
    }

    package init() {}
}

/// Reads the state of an app in a database.
package struct ReadAppState: PostgresQuery {
    package let app: AppID

    package static let statement = Statement(
        "directory.state",
        sql: "SELECT conversations.app_state($1) AS state, conversations.app_arrival($1) AS arrived_at",
        isIdempotent: true)

    package var parameters: [Value] { [.uuid(app.rawValue)] }

    package struct Row: Decodable, Sendable {
        /// nil: the database does not know the app.
        package let state: String?
        /// nil: the app has not arrived from another database.
        package let arrivedAt: PostgresTimestamp?
    }

    package init(app: AppID) { self.app = app }
}
