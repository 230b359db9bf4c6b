// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestSupport
import Testing

@testable import StrataCommand

/// The command of the previous release may be used on the new schema.
@Suite struct PreviousReleaseTests {
    @Test("the statements of the previous release return the same columns on the present schema")
    func unchanged() async throws {
        let previous = PreviousRelease(
            "strata",
            statements: [
                .appExtent, .appDeletionBegin, .appDeletionAge, .appDeletionParts, .appDeletionStep, .appDeletionEnd, AppStore.insertApp,
                AppStore.insertServerToken, AppStore.listServerTokens, AppStore.deleteServerToken, AppStore.listApps, AppStore.suspendApp,
            ], sources: ["Services/Strata"])
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }
}
