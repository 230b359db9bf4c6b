// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetKit

@Suite("open files")
struct OpenFileLimitTests {
    @Test(
        "some descriptors are reserved for uses other than clients",
        arguments: [(120, 56), (1024, 896), (4096, 3584), (1_048_576, 1_047_552), (10, 1)] as [(UInt64, Int)])
    func reserve(_ limit: UInt64, _ connections: Int) {
        #expect(OpenFileLimit.connections(of: limit) == connections)
    }

    @Test("an unlimited descriptor limit is treated as a finite one")
    func infinite() {
        #expect(OpenFileLimit.connections(of: .max) == (1 << 30) - 1024)
    }

    @Test("the process raises the soft limit to the hard limit")
    func raise() throws {
        #expect(OpenFileLimit.raise() == nil)
        let limits = try #require(OpenFileLimit.current)
        #expect(limits.soft == limits.hard)
    }
}
