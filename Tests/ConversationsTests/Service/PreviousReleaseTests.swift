// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// During an upgrade, instances of the previous release run on the new schema.
@Suite struct PreviousReleaseTests {
    private let previous = PreviousRelease(
        "conversations", statements: Queries.statements,
        sources: ["Services/Conversations", "Shared/Mutations", "Shared/DatabaseKit"], role: "strata_conversations")

    @Test("the statements of the previous release return their columns on the present schema")
    func unchanged() async throws {
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }

    @Test("a release's record detects a lost column, statement or privilege, an edited step, and edited functions")
    func record() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "previous-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: file) }
        try await PreviousRelease("another", statements: [], sources: [], role: "strata_metadata").record(in: file)
        try await previous.record(in: file)
        #expect(try await previous.differences(from: file) == [])

        // Edit the record, to simulate a release with more statements.
        var record = try String(contentsOf: file, encoding: .utf8)
        #expect(record.contains(#""service":"another""#))
        func edit(_ text: String, _ edited: String) throws {
            let place = try #require(record.firstRange(of: text))
            record.replaceSubrange(place, with: edited)
        }
        try edit(#""functionsChecksum":""#, #""functionsChecksum":"0"#)
        try edit(#""steps":{"1":""#, #""steps":{"1":"0"#)
        try edit(
            #""service":"conversations","statement":{"description":{"columns":["#,
            #""service":"conversations","statement":{"description":{"columns":[{"name":"lost","type":"text"},"#)
        try edit(#""sql":"SELECT conversations.maintain_partitions("#, #""sql":"SELECT conversations.lost("#)
        try edit(
            #""privileges":["DELETE conversations.addition""#,
            #""privileges":["DELETE conversations.app","DELETE conversations.addition""#)
        try record.write(to: file, atomically: true, encoding: .utf8)
        let differences = try await previous.differences(from: file)
        for part in ["revision above", "step 1 was edited", "lost", "conversations.lost(", "DELETE conversations.app"] {
            #expect(differences.contains { $0.contains(part) }, "\(part)")
        }
        #expect(differences.count == 5)
    }
}
