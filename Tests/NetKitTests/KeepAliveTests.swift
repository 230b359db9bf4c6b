// SPDX-License-Identifier: Apache-2.0

import NetKit
import Testing

@Suite("silent peers")
struct KeepAliveTests {
    @Test("a silent peer receives a ping, then is closed; any byte restarts the period")
    func ticks() {
        var keepAlive = KeepAlive(allowedMisses: 2)
        #expect((0..<5).map { _ in keepAlive.tick() } == [.none, .ping, .ping, .ping, .giveUp])
        keepAlive.recordProgress()
        #expect(keepAlive.tick() == .none)
        #expect(keepAlive.tick() == .ping)
        keepAlive.recordProgress()
        #expect(keepAlive.tick() == .none)
    }

    @Test("a peer with one allowed miss is closed at the fourth tick without a byte")
    func oneMiss() {
        var keepAlive = KeepAlive(allowedMisses: 1)
        keepAlive.recordProgress()
        #expect((0..<4).map { _ in keepAlive.tick() } == [.none, .ping, .ping, .giveUp])
    }
}
