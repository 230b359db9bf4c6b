// SPDX-License-Identifier: Apache-2.0
import StrataModel
import TestSupport
import Testing

@testable import Console

/// Compares the parameters and columns of every query with those that the server describes.
@Suite("statements of the console")
struct ColumnTests {
    @Test("every statement has exactly the parameters it is given and returns exactly the columns that are read")
    func described() async throws {
        let session = NewSession(address: "::1")
        let change = AuditedChange(action: "a", app: .random(), target: "t", detail: ["a": "b"]) { .noContent }
        let queries = [
            QueryCheck(BeginSignIn(name: "ana", address: "::1")),
            QueryCheck(EndSignIn(name: "ana", passwordHash: "h", session: session)),
            QueryCheck(RefuseSignIn(name: "ana", address: "::1")), QueryCheck(UseLink(link: [1], session: session)),
            QueryCheck(UseSession(session: [1], isUsed: true)), QueryCheck(EndSession(session: [1], address: "::1")),
            QueryCheck(SweepAccounts(limit: 1)), QueryCheck(RecordChange(name: "ana", address: "::1", change: change)),
            QueryCheck(FinishChange(id: 1, outcome: "ok")), QueryCheck(ListAudit(before: 1, limit: 1)),
        ]
        #expect(try await QueryCheck.differences(queries) == [])
    }
}
