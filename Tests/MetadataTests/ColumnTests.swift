// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Postgres
import TestSupport
import Testing

@testable import Metadata

/// The columns that rows are read by, against those that the server describes.
@Suite struct ColumnTests {
    @Test("every statement returns the columns that its rows are read by, with their types, and none that are not read")
    func described() async throws {
        let checks = [
            ColumnCheck(PatchColumns.self, MetadataStore.patch), ColumnCheck(TreesColumns.self, MetadataStore.readTrees),
            ColumnCheck(EpochCheckColumns.self, .epochCheck),
        ]
        #expect(try await ColumnCheck.differences(checks) == [])
    }
}
