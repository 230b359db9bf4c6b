// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Compares the parameters and columns of every query with those that the server describes.
@Suite struct ColumnTests {
    @Test(
        "every statement has exactly the parameters it is given and returns exactly the columns that are read, with their types"
    )
    func described() async throws {
        let differences = try await QueryCheck.differences(Queries.all)
        #expect(differences == [])
    }
}
