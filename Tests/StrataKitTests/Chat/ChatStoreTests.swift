// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataModel
import Testing

@testable import ChatExample

@Suite("stores of the example Chat")
struct ChatStoreTests {
    @Test("the store of a second terminal of one user is another one, and the first is used again")
    func second() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let ana = UserID(trusted: "ana")
        let first = try ChatStore(of: ana, in: directory).directory
        do {
            let (one, two) = (try ChatStore(of: ana, in: directory), try ChatStore(of: ana, in: directory))
            #expect(one.directory == first)
            #expect(two.directory.lastPathComponent == first.lastPathComponent + "-2")
            withExtendedLifetime((one, two)) {}
        }
        #expect(try ChatStore(of: ana, in: directory).directory == first)
    }

    @Test("any id has a file name of its own")
    func names() {
        let ids = ["ana", "Ana", "a/na", "../ana", "日本", String(repeating: "日", count: 42), "a b", "a_b"]
        let names = ids.map { ChatStore.name(of: UserID(trusted: $0)) }
        #expect(Set(names.map { $0.lowercased() }).count == ids.count)
        #expect(names.allSatisfy { $0.utf8.count < 64 && $0.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 < 0x80 } })
    }
}
