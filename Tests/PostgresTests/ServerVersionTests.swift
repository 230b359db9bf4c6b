// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import Testing

@Suite("the version of the server under test")
struct ServerVersionTests {
    private static let expected = ProcessInfo.processInfo.environment["STRATA_TEST_POSTGRES_VERSION"]

    @Test("the server has the version that scripts/test-versions.sh requests", .enabled(if: expected != nil))
    func version() async throws {
        try await withPool { pool async throws in
            let number: Int32 = try await pool.value("SELECT current_setting('server_version_num')::int4")
            #expect("\(number / 10_000)" == Self.expected)
        }
    }
}
