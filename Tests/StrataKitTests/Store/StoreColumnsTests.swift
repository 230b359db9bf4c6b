// SPDX-License-Identifier: Apache-2.0
import GRDB
import Testing

@testable import StrataKit

@Suite("the columns of the store")
struct StoreColumnsTests {
    /// Converts names to the schema's spelling: `sentAt` to `sent_at`.
    private func names(_ columns: [String]) -> [String] {
        columns.map { name in
            name == "index"
                ? "idx"
                : name.replacing("URL", with: "Url").map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }
                    .joined()
        }
    }

    @Test("the columns are read by their places in the schema")
    func order() throws {
        let database = try DatabaseQueue()
        try StoreSchema.migrator.migrate(database)
        func columns(of table: String) throws -> [String] {
            try database.read { try $0.columns(in: table).map(\.name) }
        }
        #expect(try columns(of: "conversation") == names(ConversationColumn.allCases.map { "\($0)" }))
        #expect(try columns(of: "message") == names(MessageColumn.allCases.map { "\($0)" }))
        #expect(try columns(of: "part") == names(PartColumn.allCases.map { "\($0)" }))
    }
}
