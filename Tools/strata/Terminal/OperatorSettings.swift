// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation

/// The operator's settings in the environment of a command. As in the services, a setting is the value of `KEY`, or the
/// content of the file named by `KEY_FILE`.
package struct OperatorSettings: Sendable {
    private let environment: [String: String]

    package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
    }

    /// Returns the value of a setting; nil if it is missing or empty.
    /// - Throws: ``CommandFailure`` if the file is unreadable.
    package func value(_ key: String) throws -> String? {
        if let value = environment[key], !value.isEmpty { return value }
        guard let path = environment[key + "_FILE"], !path.isEmpty else { return nil }
        guard var text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure(.configuration, "The file \(path), named by \(key)_FILE, cannot be read.")
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text.isEmpty ? nil : text
    }
}

struct DatabaseOption: ParsableArguments {
    @Option(
        help: """
            libpq URL of the database, as its owner. (STRATA_DATABASE_URL, or …_FILE; default: the one of the running \
            `strata dev`)
            """
    )
    var database: String?

    /// Returns the database URL: that of the option, of the environment, or of the running system, in this order.
    func url(in home: StrataHome, settings: OperatorSettings = OperatorSettings()) async throws -> String {
        if let given = try database ?? settings.value("STRATA_DATABASE_URL") { return given }
        return try await RunningState.ofRunning(in: home).databaseURL
    }
}
