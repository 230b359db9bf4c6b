// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestSupport
import Testing

@testable import StrataCommand

/// The columns that rows are read by, against those that the server describes.
@Suite struct ColumnTests {
    @Test("every statement returns the columns that its rows are read by, with their types, and none that are not read")
    func described() async throws {
        let checks = [
            ColumnCheck(ServerTokenListColumns.self, AppStore.listServerTokens), ColumnCheck(ServerTokenInsertionColumns.self, AppStore.insertServerToken),
            ColumnCheck(ServerTokenDeletionColumns.self, AppStore.deleteServerToken), ColumnCheck(AppListColumns.self, AppStore.listApps), ColumnCheck(AppSuspensionColumns.self, AppStore.suspendApp),
            ColumnCheck(AppExtentColumns.self, .appExtent), ColumnCheck(AppDeletionAgeColumns.self, .appDeletionAge),
            ColumnCheck(AppDeletionPartsColumns.self, .appDeletionParts), ColumnCheck(AppDeletionStepColumns.self, .appDeletionStep),
            ColumnCheck(AppDeletionEndColumns.self, .appDeletionEnd),
        ]
        #expect(try await ColumnCheck.differences(checks) == [])
    }
}
