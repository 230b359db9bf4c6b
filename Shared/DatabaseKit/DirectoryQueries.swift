// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import Postgres
package import StrataModel

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
