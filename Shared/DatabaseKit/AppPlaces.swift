// SPDX-License-Identifier: Apache-2.0

import StrataModel

/// The databases in which apps live, as far as this process knows. A pure value: times are parameters.
///
/// An app lives in the database that has it and does not list it as a departure. Each database lists the apps that are
/// leaving it, have left it, or are about to arrive. A list is valid for ``lifetime``, and an app is served only with a
/// valid list of its database. `strata app move` waits for longer between the pause and the switch, so no process
/// serves an app from two databases.
struct AppPlaces: Sendable {
    /// The time after the question for which a list of departures is valid.
    static let lifetime = Duration.seconds(1)

    /// The state of an app in one database.
    enum State: String, Sendable {
        /// The app lives there.
        case here
        /// The app is leaving and is not served anywhere.
        case paused
        /// The app has left.
        case moved
        /// The app is being copied there and does not live there yet.
        case arriving
    }

    /// The answer to the question where an app lives.
    enum Answer: Hashable, Sendable {
        /// In the database with this index.
        case lives(Int)
        /// The departures of the database with this index must be read first.
        case needsDepartures(Int)
        /// Every database must be asked for the app.
        case needsState
    }

    /// The apps that a database lists.
    struct Departures: Sendable {
        /// The apps that do not live in the database although it has rows of them.
        var states: [AppID: State] = [:]
        /// The apps that have arrived from another database, with the times.
        var arrivals: [AppID: Timestamp] = [:]
    }

    private struct Known {
        var departures: Departures
        var askedAt: ContinuousClock.Instant
    }

    private var homes: [AppID: Int] = [:]
    /// The departures of each database; nil: not read yet.
    private var departures: [Known?]

    /// - Parameter count: the number of databases.
    init(count: Int) { departures = Array(repeating: nil, count: count) }

    /// Returns where an app lives.
    ///
    /// The latest arrival decides. A database that was restored to a time before it lost the app does not know that.
    mutating func place(of app: AppID, at now: ContinuousClock.Instant) -> Answer {
        guard let home = latestArrival(of: app) ?? homes[app] else { return .needsState }
        guard let known = departures[home], now < known.askedAt + Self.lifetime else { return .needsDepartures(home) }
        guard let state = known.departures.states[app], state != .here else { return .lives(home) }
        homes[app] = nil
        return .needsState
    }

    /// Records the departures of a database. Of several answers, the one to the latest question counts.
    mutating func departuresRead(
        _ new: Departures, of database: Int, askedAt: ContinuousClock.Instant
    ) {
        if let known = departures[database], known.askedAt > askedAt { return }
        departures[database] = Known(departures: new, askedAt: askedAt)
    }

    private func latestArrival(of app: AppID) -> Int? {
        var latest: (database: Int, time: Timestamp)?
        for (database, known) in departures.enumerated() {
            guard let time = known?.departures.arrivals[app] else { continue }
            if latest.map({ $0.time < time }) ?? true { latest = (database, time) }
        }
        return latest?.database
    }

    /// Records that an app lives in a database.
    mutating func found(_ app: AppID, in database: Int) { homes[app] = database }
}
