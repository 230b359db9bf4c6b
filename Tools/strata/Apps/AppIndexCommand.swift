// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Postgres
import StrataModel

struct AppIndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Adds, lists and removes the indexes by which an app's conversations are found by their metadata.",
        discussion:
            "An index covers one key path, such as metadata.status. It slows down only changes of that value.",
        subcommands: [AppIndexAddCommand.self, AppIndexListCommand.self, AppIndexRemoveCommand.self])
}

struct AppIndexRow: Codable, Equatable, Sendable {
    var property: String
    var state: String
    var createdAt: String
    var readyAt: String?

    init(_ index: AppStore.Index) {
        property = "metadata.\(index.path)"
        state = index.readyAt == nil ? "building" : "ready"
        createdAt = index.createdAt.formatted(.iso8601)
        readyAt = index.readyAt?.formatted(.iso8601)
    }

    var line: String { "\(state.padding(toLength: 8, withPad: " ", startingAt: 0))  \(createdAt)  \(property)" }
}

struct AppIndexAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract:
            "Adds an index. Queries are refused until the services have indexed the existing conversations.")

    @Argument(help: "The key path, such as metadata.status.")
    var property: String
    @OptionGroup var target: AppTarget
    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let path = try IndexedProperty.path(property)
        let app = try target.id
        let (outcome, index) = try await target.store.addIndex(path, to: app)
        if outcome == "too_many" {
            throw CommandFailure(
                .usage,
                """
                The app has \(MetadataIndex.maximumPerApp) indexes, the maximum. \
                See \(OwnCommand.name) app index remove
                """
            )
        }
        if outcome == "removing" {
            throw CommandFailure(
                .temporary,
                """
                \(MetadataIndex.maximumPerApp) indexes of the app are still being removed. \
                The same command will work later.
                """
            )
        }
        guard let index else { throw target.noSuchApp(app) }
        let row = AppIndexRow(index)
        if json { return try Console.standard.say(json: row) }
        Console.standard.say(row.line)
    }
}

struct AppIndexListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the indexes of an app: those that are ready, and those that are being built.")

    @OptionGroup var target: AppTarget
    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let app = try target.id
        guard let indexes = try await target.store.indexes(of: app) else { throw target.noSuchApp(app) }
        let rows = indexes.map { AppIndexRow($0) }
        if json { return try Console.standard.say(json: rows) }
        guard !rows.isEmpty else {
            return Console.standard.say(
                "No index. Add one with: \(OwnCommand.name) app index add metadata.status \(target.app)")
        }
        for row in rows { Console.standard.say(row.line) }
    }
}

struct AppIndexRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes an index: queries by it are refused at once.")

    @Argument(help: "The key path, such as metadata.status.")
    var property: String
    @OptionGroup var target: AppTarget

    func run() async throws {
        let path = try IndexedProperty.path(property)
        let app = try target.id
        guard try await target.store.removeIndex(path, of: app) else {
            throw CommandFailure(
                .usage, "The app has no index metadata.\(path). \(OwnCommand.name) app index list shows all.")
        }
        Console.standard.say("metadata.\(path)  is no longer indexed")
    }
}

/// A metadata key path as the operator types it.
enum IndexedProperty {
    /// Returns the path without `metadata.`.
    /// - Throws: ``CommandFailure`` if the path is invalid.
    static func path(_ property: String) throws -> String {
        guard property.hasPrefix("metadata.") else {
            throw CommandFailure(.usage, "The key path must begin with metadata., such as metadata.status.")
        }
        do throws(Failure) {
            let path = try MetadataPath(validating: property.dropFirst("metadata.".count))
            try path.checkSettable()
            return path.dotted
        } catch {
            throw CommandFailure(.usage, error.message)
        }
    }
}

extension AppStore {
    struct Index: Decodable, Equatable {
        let path: String
        let createdAt: Date
        /// The time at which the index was complete. nil: it is being built.
        let readyAt: Date?
    }

    /// Adds an index to an app.
    /// - Returns: The outcome `created`, `found`, `too_many`, `removing` or `no_app`, and the index, if there is one.
    func addIndex(_ path: String, to app: UUID) async throws -> (outcome: String, index: Index?) {
        let rows = try await query(AddAppIndex(app: app, path: path, most: Int64(MetadataIndex.maximumPerApp)))
        guard let row = rows.first else { return ("no_app", nil) }
        return (row.outcome, row.index)
    }

    /// Returns the indexes of an app in the order of their paths; nil if the app does not exist.
    func indexes(of app: UUID) async throws -> [Index]? {
        let rows = try await query(ListAppIndexes(app: app))
        return rows.isEmpty ? nil : rows.compactMap(\.index)
    }

    /// Removes an index. Returns false if the app has no such index.
    func removeIndex(_ path: String, of app: UUID) async throws -> Bool {
        try await query(RemoveAppIndex(app: app, path: path)).first?.isRemoved ?? false
    }
}

struct AddAppIndex: PostgresQuery {
    let app: UUID
    let path: String
    /// The maximum number of indexes of an app.
    let most: Int64

    static let statement = Statement(
        "app_index.add",
        sql: "SELECT i.outcome, i.path, i.created_at, i.ready_at FROM metadata.add_index($1, $2, $3) i",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(path), .int8(most)] }

    struct Row: Decodable {
        let outcome: String
        let index: AppStore.Index?
    }
}

/// The indexes of an app, in the order of their paths. No row: the app does not exist.
struct ListAppIndexes: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app_index.list",
        sql: """
            SELECT i.path, i.created_at, i.ready_at
            FROM conversations.app a LEFT JOIN metadata.indexes_of($1) i ON true
            WHERE a.id = $1 ORDER BY i.path
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        /// nil: the app has no index.
        let index: AppStore.Index?
    }
}

struct RemoveAppIndex: PostgresQuery {
    let app: UUID
    let path: String

    static let statement = Statement("app_index.remove", sql: "SELECT metadata.remove_index($1, $2) AS is_removed")

    var parameters: [Value] { [.uuid(app), .text(path)] }

    struct Row: Decodable {
        let isRemoved: Bool
    }
}
