// SPDX-License-Identifier: Apache-2.0

import Foundation
import RPC
import Testing

@testable import Contracts

@Suite("names of methods")
struct MethodNameTests {
    /// Returns the names in `services.proto` and `admin.proto` by number, in Swift's spelling.
    private static func declared() throws -> [(number: UInt16, name: String)] {
        let folder = URL(fileURLWithPath: #filePath).appending(path: "../../../Shared/Contracts/Protos").standardized
        let text = try ["services", "admin"]
            .map { try String(contentsOf: folder.appending(path: "\($0).proto"), encoding: .utf8) }
            .joined()
        return try text.matches(of: /\n  rpc (\w)(\w+)\(.*option \(number\) = ([0-9]+);/)
            .map { (try #require(UInt16($0.3)), $0.1.lowercased() + $0.2) }
    }

    @Test("each method has a unique name, the one in its .proto file")
    func names() throws {
        let declared = try Self.declared()
        #expect(declared.count == RPCMethod.names.count)
        for (number, name) in declared { #expect(RPCMethod(rawValue: number).name == name) }
        #expect(Set(RPCMethod.names.values).count == declared.count)
    }

    @Test("no two methods have the same number")
    func numbers() throws {
        let declared = try Self.declared()
        #expect(declared.count > 40)
        #expect(Set(declared.map(\.number)).count == declared.count)
    }

    @Test("an unknown method's name is its number")
    func unknown() {
        #expect(RPCMethod(rawValue: 65_535).name == "65535")
    }
}
