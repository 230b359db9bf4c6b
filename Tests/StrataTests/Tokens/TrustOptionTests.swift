// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import StrataCommand

@Suite("certificates trusted by a command")
struct TrustOptionTests {
    private let stale = OperatorSettings(["STRATA_CA": "/nowhere/ca.pem"])

    @Test("STRATA_CA applies to a gateway with TLS only, and --ca always")
    func environment() throws {
        let none = try TrustOption.parse([])
        #expect(throws: Never.self) {
            _ = try none.serverTrust(for: ["http://127.0.0.1:1", "HTTP://localhost"], settings: stale)
        }
        for gateways in [["https://127.0.0.1:1"], ["http://127.0.0.1:1", "HTTPS://127.0.0.1:2"]] {
            let failure = #expect(throws: CommandFailure.self) {
                _ = try none.serverTrust(for: gateways, settings: stale)
            }
            #expect(failure?.message.contains("/nowhere/ca.pem") == true)
        }
        let named = try TrustOption.parse(["--ca", "/nowhere/other.pem"])
        #expect(throws: CommandFailure.self) { _ = try named.serverTrust(for: ["http://127.0.0.1:1"], settings: stale) }
        let any = try TrustOption.parse(["--insecure"])
        #expect(throws: Never.self) { _ = try any.serverTrust(for: ["https://127.0.0.1:1"], settings: stale) }
    }
}
