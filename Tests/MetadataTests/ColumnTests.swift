// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import Postgres
import StrataModel
import TestSupport
import Testing

@testable import Metadata

/// An example of every query of the service, with a value for each parameter.
enum Queries {
    private static let app = AppID(rawValue: UUID())

    static let all: [QueryCheck] = [
        QueryCheck(
            PatchMetadata(
                app: app, conversation: ConversationID(rawValue: UUID()), actor: UserID(trusted: "ana"),
                operations: "[]",
                origin: Change.Origin(connection: 1, request: 2), maxTreeKeys: 1, maxTreeBytes: 1, isShared: true)),
        QueryCheck(CheckEpoch(epoch: "a", walEnd: 1)), QueryCheck(ReadRecordedApps()),
        QueryCheck(ReadDepartures()), QueryCheck(ReadAppState(app: app)),
    ]
}

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
