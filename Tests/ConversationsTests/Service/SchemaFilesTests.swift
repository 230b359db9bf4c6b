// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import Schema
import Testing

/// The files of the schema against what the program has of them.
@Suite struct SchemaFilesTests {
    /// Names and texts of the files in a folder of Shared/Schema.
    private func files(in folder: String) throws -> [String: String] {
        let root = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let files = try FileManager.default.contentsOfDirectory(at: root.appending(path: "Shared/Schema/\(folder)"), includingPropertiesForKeys: nil)
        return Dictionary(uniqueKeysWithValues: try files.map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) })
    }

    @Test("every step in the folder is embedded as it is, under its version, and steps are in the order of their versions")
    func steps() throws {
        let embedded = Schema.migrations.map { (String(format: "%04d_", $0.version) + "\($0.name).sql", $0.sql) }
        #expect(Dictionary(uniqueKeysWithValues: embedded) == (try files(in: "Tables")))
        #expect(Schema.migrations.map(\.version) == Schema.migrations.map(\.version).sorted())
    }

    @Test("every file of functions in the folder is embedded as it is")
    func functions() throws {
        let embedded = Schema.functions.files.map { ("\($0.name).sql", $0.sql) }
        #expect(Dictionary(uniqueKeysWithValues: embedded) == (try files(in: "Functions")))
    }
}
