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

    /// Returns the URLs of the databases, in the order of the text or of `STRATA_DATABASE_URL`; nil: neither is given.
    package func databaseURLs(_ given: String?) throws -> [String]? {
        guard let text = try given ?? value("STRATA_DATABASE_URL") else { return nil }
        return try DatabaseOption.parse(text).databases.map { $0.url }
    }
}

struct DatabaseOption: ParsableArguments {
    @Option(
        help: """
            libpq URL of the database, as its owner; or several, as name=url, separated by spaces; or the name of one \
            of several. (STRATA_DATABASE_URL, or …_FILE; default: those of the running `strata dev`)
            """
    )
    var database: String?

    /// Returns the databases: those of the option, of the environment, or of the running system, in this order.
    func list(in home: StrataHome, settings: OperatorSettings = OperatorSettings()) async throws -> DatabaseList {
        let name = database.flatMap { DatabaseName($0) }
        if let database, name == nil { return try Self.parse(database) }
        let all: DatabaseList
        if let known = try settings.value("STRATA_DATABASE_URL") {
            all = try Self.parse(known)
        } else {
            let state = try await RunningState.ofRunning(in: home)
            all = try Self.parse(state.databases ?? state.databaseURL)
        }
        guard let name else { return all }
        guard let one = all.databases.first(where: { $0.name == name }) else {
            throw CommandFailure(.usage, "There is no database with the name \(name).")
        }
        return DatabaseList(name: one.name, url: one.url)
    }

    fileprivate static func parse(_ text: String) throws -> DatabaseList {
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
