// SPDX-License-Identifier: Apache-2.0

import Crypto
public import Foundation
import Glibc
import Logging
public import Postgres
import Schema

/// The statements that an executable of the previous release prepares, and the privileges of its role. During an
/// upgrade they are used on the schema of the next release.
///
/// `Tests/PreviousRelease.jsonl` holds the record of all executables, one line for each statement. A release writes it
/// with `STRATA_RECORD_STATEMENTS=1 scripts/test.sh --filter PreviousReleaseTests`. Before the first release there is
/// no file, and only the present statements are prepared.
public struct PreviousRelease {
    private struct Line: Codable {
        struct Schema: Codable {
            let functionsRevision: Int
            let functionsChecksum: String
            let steps: [String: String]
        }

        struct Entry: Codable {
            let name: String
            let sql: String
            let description: StatementDescription
        }

        /// The executable's name; nil for the line of the schema.
        var service: String?
        var schema: Schema?
        var statement: Entry?
        var privileges: [String]?
    }

    /// The executable's name in the record.
    let service: String
    /// All statements of the present executable.
    let statements: [Statement]
    let sources: [String]
    /// The database role of the executable. nil: the owner of the database.
    let role: String?

    /// - Parameters:
    ///   - service: The executable's name in the record.
    ///   - statements: All statements of the present executable.
    ///   - sources: The directories with their declarations, relative to the repository's root.
    ///   - role: The database role of the executable. nil: the owner of the database.
    public init(_ service: String, statements: [Statement], sources: [String], role: String? = nil) {
        self.service = service
        self.statements = statements
        self.sources = sources
        self.role = role
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the names of statements that the sources declare and the list lacks. A name is recognized as a literal
    /// after the word `Statement`.
    public func unlisted() throws -> [String] {
        var names: Set<String> = []
        for source in sources {
            let directory = Self.root.appending(path: source)
            let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift" else { continue }
                for match in try String(contentsOf: file, encoding: .utf8).matches(of: /Statement\(\s*"([a-z_.]+)"/) {
                    names.insert(String(match.1))
                }
            }
        }
        return names.subtracting(statements.map(\.name)).sorted()
    }

    /// Compares the repository's record with the present schema. If `STRATA_RECORD_STATEMENTS` is set, the record is
    /// written first.
    /// - Returns: The differences, one line each.
    public func differences() async throws -> [String] {
        let file = Self.root.appending(path: "Tests/PreviousRelease.jsonl")
        if ProcessInfo.processInfo.environment["STRATA_RECORD_STATEMENTS"] != nil { try await record(in: file) }
        return try await differences(from: file)
    }

    /// Prepares the recorded statements on the present schema, and compares their columns, the role's privileges and
    /// the migration steps.
    ///
    /// A privilege on an object that no longer exists is not reported, because a statement that needs it fails. Without
    /// a record of the executable, the present statements are prepared.
    /// - Returns: The differences, one line each.
    public func differences(from file: URL) async throws -> [String] {
        let migrator = try await Self.migrated()
        let lines = try Self.lines(of: file)
        let own = lines.filter { $0.service == service }
        guard !own.isEmpty else {
            _ = try await migrator.describe(statements)
            return []
        }
        var differences = lines.compactMap(\.schema).flatMap(Self.differences)
        for entry in own.compactMap(\.statement) {
            do {
                let now = try await migrator.describe([Statement(entry.name, sql: entry.sql)])
                if !now.allSatisfy({ Self.canBeRead($0, as: entry.description) }) {
                    differences.append("\(entry.name): \(now) instead of \(entry.description)")
                }
            } catch {
                differences.append("\(entry.name): \(error.serverDetail ?? "\(error)")")
            }
        }
        if let role {
            let present = try await migrator.privileges(of: role)
            let owners = try await migrator.privileges(of: nil)
            differences += own.compactMap(\.privileges).joined().filter { !present.contains($0) && owners.contains($0) }
                .map { "\(role) has lost \($0)" }
        }
        return differences
    }

    /// Returns true if the previous release can read the rows by the names of their columns. Additional columns are
    /// allowed.
    private static func canBeRead(_ now: StatementDescription, as before: StatementDescription) -> Bool {
        var rest = now.columns[...]
        for column in before.columns {
            guard let place = rest.firstIndex(of: column) else { return false }
            rest = rest[(place + 1)...]
        }
        return now.parameters == before.parameters
    }

    private static func differences(from before: Line.Schema) -> [String] {
        let now = present
        var differences: [String] = []
        if now.functionsChecksum != before.functionsChecksum, now.functionsRevision <= before.functionsRevision {
            differences.append(
                "functions have changed since the previous release: Schema.functions needs a revision above \(before.functionsRevision)"
            )
        }
        for (version, checksum) in before.steps.sorted(by: { $0.key < $1.key }) where now.steps[version] != checksum {
            differences.append("step \(version) was edited after its release")
        }
        return differences
    }

    /// Replaces the recorded lines of this executable and of the schema.
    public func record(in file: URL) async throws {
        let migrator = try await Self.migrated()
        var own = [Line(schema: Self.present)]
        if let role { own.append(Line(service: service, privileges: try await migrator.privileges(of: role))) }
        for (statement, description) in zip(statements, try await migrator.describe(statements))
            .sorted(by: { $0.0.name < $1.0.name })
        {
            own.append(
                Line(
                    service: service,
                    statement: .init(name: statement.name, sql: statement.sql, description: description)))
        }
        // Test suites of several executables record concurrently, so the file is locked.
        let descriptor = open(file.path, O_RDWR | O_CREAT, 0o644)
        defer { close(descriptor) }
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else { throw CocoaError(.fileWriteUnknown) }
        let others = try Self.lines(of: file).filter { $0.service != nil && $0.service != service }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let lines = try (own + others).map { (key: $0.service ?? "", text: try encoder.encode($0)) }
        // A stable order of executables keeps the differences of the file small.
        let sorted = lines.enumerated().sorted { ($0.element.key, $0.offset) < ($1.element.key, $1.offset) }
        try Data(sorted.flatMap { $0.element.text + Data("\n".utf8) }).write(to: file)
    }

    private static func lines(of file: URL) throws -> [Line] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
            .map { try JSONDecoder().decode(Line.self, from: $0) }
    }

    private static func migrated() async throws -> Migrator {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: try await TestServers.postgres()))
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        _ = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        return migrator
    }

    private static var present: Line.Schema {
        Line.Schema(
            functionsRevision: Schema.functions.revision,
            functionsChecksum: checksum(of: Schema.functions.files.map { $0.name + $0.sql }.joined()),
            steps: Dictionary(uniqueKeysWithValues: Schema.migrations.map { ("\($0.version)", checksum(of: $0.sql)) }))
    }

    private static func checksum(of text: String) -> String {
        SHA256.hash(data: Data(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }
}
