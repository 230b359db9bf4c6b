// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// During an upgrade, instances of the previous release run on the new schema.
@Suite struct PreviousReleaseTests {
    @Test("the statements of the previous release return their columns on the present schema")
    func unchanged() async throws {
        let previous = PreviousRelease(
            "metadata", statements: Queries.all.flatMap(\.statements),
            sources: ["Services/Metadata", "Shared/DatabaseKit"], role: "strata_metadata")
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }
}
