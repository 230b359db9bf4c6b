// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StrataCommand

@Suite("the passwords of the services' roles")
struct PasswordTests {
    @Test("both passwords are set or neither")
    func both() throws {
        #expect(try DatabaseMigration.Passwords(OperatorSettings([:])) == nil)
        let both = ["STRATA_CONVERSATIONS_PASSWORD": "c", "STRATA_METADATA_PASSWORD": "m"]
        #expect(
            try DatabaseMigration.Passwords(OperatorSettings(both))
                == DatabaseMigration.Passwords(conversations: "c", metadata: "m"))
        #expect(throws: CommandFailure.self) {
            try DatabaseMigration.Passwords(OperatorSettings(["STRATA_METADATA_PASSWORD": "m"]))
        }
        let all = both.merging(["STRATA_WEBHOOKS_PASSWORD": "w"]) { $1 }
        #expect(
            try DatabaseMigration.Passwords(OperatorSettings(all))
                == DatabaseMigration.Passwords(conversations: "c", metadata: "m", webhooks: "w"))
        #expect(throws: CommandFailure.self) {
            try DatabaseMigration.Passwords(OperatorSettings(["STRATA_WEBHOOKS_PASSWORD": "w"]))
        }
        let empty = ["STRATA_CONVERSATIONS_PASSWORD": "", "STRATA_METADATA_PASSWORD": "m"]
        #expect(throws: CommandFailure.self) { try DatabaseMigration.Passwords(OperatorSettings(empty)) }
    }
}
