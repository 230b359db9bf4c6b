// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import DatabaseKit
import Foundation
import StrataModel

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
            libpq URL of the database, as its owner; or several, as name=url, separated by spaces; or the name of one \
            of several in STRATA_DATABASE_URL. (STRATA_DATABASE_URL, or …_FILE; default: the one of the running \
            `strata dev`)
            """
    )
    var database: String?

    /// Returns the databases: those of the option, of the environment, or of the running system, in this order.
    func list(in home: StrataHome, settings: OperatorSettings = OperatorSettings()) async throws -> DatabaseList {
        let known = try settings.value("STRATA_DATABASE_URL")
        if let name = database.flatMap({ DatabaseName($0) }), let all = known.flatMap({ DatabaseList($0) }),
            all.databases.count > 1
        {
            guard let one = all.databases.first(where: { $0.name == name }) else {
                throw CommandFailure(.usage, "STRATA_DATABASE_URL has no database with the name \(name).")
            }
            return DatabaseList(name: one.name, url: one.url)
        }
        let given = database ?? known
        let text = if let given { given } else { try await RunningState.ofRunning(in: home).databaseURL }
        guard let list = DatabaseList(text) else {
            throw CommandFailure(
                .configuration, "The database (--database, STRATA_DATABASE_URL) must be \(DatabaseList.expected).")
        }
        return list
    }

    /// Returns the URL of the first database, which has the operators of the console.
    func url(in home: StrataHome, settings: OperatorSettings = OperatorSettings()) async throws -> String {
        try await list(in: home, settings: settings).databases[0].url
    }

    /// Returns the apps of the databases.
    func stores(in home: StrataHome, settings: OperatorSettings = OperatorSettings()) async throws -> AppStores {
        AppStores(try await list(in: home, settings: settings))
    }
}
