// SPDX-License-Identifier: Apache-2.0

import RPC
import Testing

@testable import StrataCommand

@Suite("where the conversations service is")
struct ServiceLineTests {
    @Test("is one address or several, as the gateways take them")
    func addresses() throws {
        #expect(try ServiceLine.endpoints("conversations:7400", from: "--service").map(\.description) == ["conversations:7400"])
        #expect(try ServiceLine.endpoints("one:1, [::1]:2", from: "--service").map(\.description) == ["one:1", "[::1]:2"])
    }

    @Test("what is no address is refused, with the name of what it is from", arguments: ["", "one", "one:1,", "one:0", ":1", "one:1,two"])
    func refused(_ text: String) {
        let failure = #expect(throws: CommandFailure.self) { try ServiceLine.endpoints(text, from: "STRATA_CONVERSATIONS_ADDRESSES") }
        #expect(failure.map { "\($0)" }?.contains("STRATA_CONVERSATIONS_ADDRESSES") == true)
    }
}
