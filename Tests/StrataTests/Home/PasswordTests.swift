// SPDX-License-Identifier: Apache-2.0

import Schema
import Testing

@testable import StrataCommand

@Suite("the passwords of the services' roles")
struct PasswordTests {
    @Test("the passwords of conversations and metadata are both set or neither; the others are optional")
    func both() throws {
        #expect(try DatabaseMigration.passwords(OperatorSettings([:])) == [:])
        let both = ["STRATA_CONVERSATIONS_PASSWORD": "c", "STRATA_METADATA_PASSWORD": "m"]
        #expect(
            try DatabaseMigration.passwords(OperatorSettings(both)) == [.conversations: "c", .metadata: "m"])
        let all = both.merging(["STRATA_WEBHOOKS_PASSWORD": "w", "STRATA_CONSOLE_PASSWORD": "o"]) { $1 }
        #expect(
            try DatabaseMigration.passwords(OperatorSettings(all))
                == [.conversations: "c", .metadata: "m", .webhooks: "w", .console: "o"])
        for incomplete in [
            ["STRATA_METADATA_PASSWORD": "m"], ["STRATA_WEBHOOKS_PASSWORD": "w"], ["STRATA_CONSOLE_PASSWORD": "o"],
            ["STRATA_CONVERSATIONS_PASSWORD": "", "STRATA_METADATA_PASSWORD": "m"],
        ] {
            #expect(throws: CommandFailure.self) { try DatabaseMigration.passwords(OperatorSettings(incomplete)) }
        }
    }

    @Test("the script gives each role its password, and leaves roles without one alone")
    func script() {
        let script = Schema.roleScript(passwords: [.console: "it's", .metadata: "m"])
        #expect(script.contains("ALTER ROLE strata_metadata LOGIN PASSWORD 'm';"))
        #expect(script.contains("ALTER ROLE strata_console LOGIN PASSWORD 'it''s';"))
        #expect(!script.contains("strata_conversations") && !script.contains("strata_webhooks"))
    }
}
