// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The previous release's command must work on the new schema.
@Suite struct PreviousReleaseTests {
    @Test("the statements of the previous release return their columns on the present schema")
    func unchanged() async throws {
        let previous = PreviousRelease(
            "strata", statements: Queries.all.flatMap(\.statements), sources: ["Tools/strata"])
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }
}
