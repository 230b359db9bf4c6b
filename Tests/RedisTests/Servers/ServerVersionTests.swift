// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Redis

extension ServerTests {
    @Suite("the version of the server under test") struct ServerVersionTests {
        /// The expected line of `INFO` up to the major version: `redis_version:8`, `valkey_version:9`.
        private static let expected = ProcessInfo.processInfo.environment["STRATA_TEST_REDIS_VERSION"]

        @Test("the server has the version that scripts/test-versions.sh requests", .enabled(if: expected != nil))
        func version() async throws {
            try await RedisServer.with { server async throws in
                try await withClient(.test(server.endpoint)) { client async throws in
                    let info = try #require(try await client.run("INFO", "server").string)
                    #expect(info.contains("\n\(try #require(Self.expected))."), "\(info.prefix(200))")
                }
            }
        }
    }
}
