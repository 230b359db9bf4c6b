// SPDX-License-Identifier: Apache-2.0

import LocalServers
import Testing

@Suite("ports of this machine")
struct LoopbackPortTests {
    @Test("no port is assigned twice, even before a server listens on it")
    func once() throws {
        // There are some twenty thousand ports. Independent random draws would contain duplicates.
        let ports = try (0..<600).map { _ in try LoopbackPort.free() } + LoopbackPort.free(200)
        #expect(Set(ports).count == 800)
    }
}
