// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Logging
public import Postgres
import Schema

/// The statements that the executables of the previous release prepare, and what their role may do, as `Tests/PreviousRelease/<service>.json` has recorded them. While an upgrade goes
/// on, they run on the schema of the next release.
///
/// After a release, `STRATA_RECORD_STATEMENTS=1 scripts/test.sh --filter PreviousReleaseTests` records the present ones in their place.
public struct PreviousRelease {
    private struct Record: Codable {
        struct Entry: Codable {
            let name: String
            let sql: String
            let description: StatementDescription
        }

        /// Of ``Schema/Schema/functions``.
        let functionsRevision: Int
        let functionsChecksum: String
        let statements: [Entry]
        /// Of the service's role.
        let privileges: [String]?
    }

    /// Of the service's file.
    let service: String
    /// All statements of the service now.
    let statements: [Statement]
    /// The directories with their declarations.
    let sources: [String]
    /// The role that the service signs in as; nil: the owner of the database.
    let role: String?

    /// - Parameters:
    ///   - service: names the file.
    ///   - statements: all statements of the service now.
    ///   - sources: the directories with their declarations, from the repository's root.
    ///   - role: the role that the service signs in as; nil: the owner of the database.
    public init(_ service: String, statements: [Statement], sources: [String], role: String? = nil) {
        self.service = service
        self.statements = statements
        self.sources = sources
        self.role = role
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The names of statements that the sources declare and the list lacks. The name is a literal beside the word `Statement`.
    public func unlisted() throws -> [String] {
        var names: Set<String> = []
        for source in sources {
            let directory = Self.root.appending(path: source)
            let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift" else { continue }
                for match in try String(contentsOf: file, encoding: .utf8).matches(of: /Statement\(\s*"([a-z_.]+)"/) { names.insert(String(match.1)) }
            }
        }
        return names.subtracting(statements.map(\.name)).sorted()
    }

    /// Whether rows are still what the previous release reads: by the names of their columns, of which there may be more now.
    private static func canBeRead(_ now: StatementDescription, as before: StatementDescription) -> Bool {
        var rest = now.columns[...]
        for column in before.columns {
            guard let place = rest.firstIndex(of: column) else { return false }
            rest = rest[(place + 1)...]
        }
        return now.parameters == before.parameters
    }

    /// Prepares the recorded statements on the present schema, and compares what the service's role may do with what it could do before. A privilege on
    /// what does not exist any more is not missed: a statement that needs it fails.
    /// - Returns: what is not as it was, one line each.
    public func differences() async throws -> [String] {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: try await TestServers.postgres()))
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        _ = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        let file = Self.root.appending(path: "Tests/PreviousRelease/\(service).json")
        if ProcessInfo.processInfo.environment["STRATA_RECORD_STATEMENTS"] != nil {
            try await record(in: file, migrator)
            return []
        }
        let record = try JSONDecoder().decode(Record.self, from: Data(contentsOf: file))
        var differences: [String] = []
        if Self.checksum != record.functionsChecksum, Schema.functions.revision <= record.functionsRevision {
            differences.append(
                "functions have changed since the previous release: Schema.functions needs a revision above \(record.functionsRevision)")
        }
        for entry in record.statements {
            do {
                let now = try await migrator.describe([Statement(entry.name, sql: entry.sql)])
                if !now.allSatisfy({ Self.canBeRead($0, as: entry.description) }) {
                    differences.append("\(entry.name): \(now) instead of \(entry.description)")
                }
            } catch {
                differences.append("\(entry.name): \(error.serverDetail ?? "\(error)")")
            }
        }
        if let role, let recorded = record.privileges {
            let present = try await migrator.privileges(of: role)
            let owners = try await migrator.privileges(of: nil)
            differences += recorded.filter { !present.contains($0) && owners.contains($0) }.map { "\(role) has lost \($0)" }
        }
        return differences
    }

    private func record(in file: URL, _ migrator: Migrator) async throws {
        let entries = try await zip(statements, migrator.describe(statements))
            .map { Record.Entry(name: $0.name, sql: $0.sql, description: $1) }.sorted { $0.name < $1.name }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var privileges: [String]?
        if let role { privileges = try await migrator.privileges(of: role) }
        let record = Record(
            functionsRevision: Schema.functions.revision, functionsChecksum: Self.checksum, statements: entries, privileges: privileges)
        try (encoder.encode(record) + Data("\n".utf8)).write(to: file)
    }

    private static var checksum: String {
        SHA256.hash(data: Data(Schema.functions.files.map { $0.name + $0.sql }.joined().utf8)).map { String(format: "%02x", $0) }.joined()
    }
}
