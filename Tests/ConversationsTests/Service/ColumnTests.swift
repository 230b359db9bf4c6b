// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Compares the parameters and columns of every query with those that the server describes.
@Suite struct ColumnTests {
    @Test("every statement has the parameters that it is given and returns the columns that are read, with their types, and no others")
    func described() async throws {
        let differences = try await QueryCheck.differences(Queries.all)
        #expect(differences == [])
    }
}
