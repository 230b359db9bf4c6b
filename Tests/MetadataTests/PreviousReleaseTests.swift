// SPDX-License-Identifier: Apache-2.0

import Mutations
import TestSupport
import Testing

@testable import Metadata

/// While an upgrade goes on, instances of the previous release run on the new schema.
@Suite struct PreviousReleaseTests {
    @Test("the statements of the previous release return the same columns on the present schema")
    func unchanged() async throws {
        let previous = PreviousRelease(
            "metadata", statements: [EpochWatch.check, MetadataStore.readTrees, MetadataStore.patch.plain, MetadataStore.patch.once],
            sources: ["Services/Metadata"])
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }
}
