// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

struct DatabaseOption: ParsableArguments {
    @Option(
        help:
            "libpq URL of the database, as its owner. (STRATA_DATABASE_URL, or …_FILE; default: the one of the running `strata dev`)"
    )
    var database: String?

    /// Returns the database URL: that of the option, of the environment, or of the running system, in this order.
    func url(in home: StrataHome, settings: OperatorSettings = OperatorSettings()) async throws -> String {
        if let given = try database ?? settings.value("STRATA_DATABASE_URL") { return given }
        return try await RunningState.ofRunning(in: home).databaseURL
    }
}
