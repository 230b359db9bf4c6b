// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import Schema
import Testing

/// Compares the schema's files with their copies in the program.
@Suite struct SchemaFilesTests {
    /// Returns the names and texts of the files in a folder of Shared/Schema.
    private func files(in folder: String) throws -> [String: String] {
        let root = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let directory = root.appending(path: "Shared/Schema/\(folder)")
        guard FileManager.default.fileExists(atPath: directory.path) else { return [:] }
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        return Dictionary(
            uniqueKeysWithValues: try files.map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) })
    }

    @Test("the baseline consists of all table files")
    func baseline() throws {
        let baseline = try #require(Schema.migrations.first)
        #expect(baseline.version == 1 && baseline.name == "baseline")
        let files = try files(in: "Tables")
        #expect(files.count > 15)
        for (name, sql) in files { #expect(baseline.sql.contains(sql), "\(name) is missing") }
        #expect(files.values.reduce(0) { $0 + $1.utf8.count } == baseline.sql.utf8.count)
    }

    @Test("tables and steps create no functions or triggers; the function files contain these")
    func tablesOnly() {
        for step in Schema.migrations {
            #expect(
                step.sql.firstMatch(of: /(?i)CREATE\s+(OR\s+REPLACE\s+)?(FUNCTION|PROCEDURE|TRIGGER)/) == nil,
                "\(step.name)")
        }
    }

    @Test("every step file is embedded unchanged under its version, in version order")
    func steps() throws {
        let embedded = Schema.migrations.dropFirst()
            .map { (String(format: "%04d_", $0.version) + "\($0.name).sql", $0.sql) }
        #expect(Dictionary(uniqueKeysWithValues: embedded) == (try files(in: "Steps")))
        #expect(Schema.migrations.map(\.version) == Schema.migrations.map(\.version).sorted())
    }

    @Test("every function file is embedded unchanged")
    func functions() throws {
        let embedded = Schema.functions.files.map { ("\($0.name).sql", $0.sql) }
        #expect(Dictionary(uniqueKeysWithValues: embedded) == (try files(in: "Functions")))
    }
}
