// SPDX-License-Identifier: Apache-2.0

import Foundation
import RPC
import Testing

@testable import Contracts

@Suite("names of methods")
struct MethodNameTests {
    /// Returns the number of each declared method, parsed from the source, because Swift cannot list declarations.
    private static func declared() throws -> [String: UInt16] {
        let file = URL(fileURLWithPath: #filePath).appending(path: "../../../Shared/Contracts/Endpoints.swift")
            .standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        var methods: [String: UInt16] = [:]
        for api in text.split(separator: "public enum ").dropFirst() {
            for endpoint in api.matches(of: /static let ([A-Za-z]+) =\s+Endpoint<[^>]*>\(\s*([0-9]+)/) {
                methods["\(api.prefix { $0 != " " }).\(endpoint.1)"] = UInt16(endpoint.2)
            }
        }
        return methods
    }

    @Test("each method has a unique name")
    func names() throws {
        let declared = try Self.declared()
        #expect(declared.count == RPCMethod.names.count)
        for (endpoint, number) in declared {
            #expect(RPCMethod.names[RPCMethod(rawValue: number)] != nil, "\(endpoint) has no name")
        }
        #expect(Set(RPCMethod.names.values).count == RPCMethod.names.count)
    }

    @Test("no two methods have the same number")
    func numbers() throws {
        let declared = try Self.declared()
        #expect(declared.count > 40)
        #expect(Set(declared.values).count == declared.count)
    }
}
