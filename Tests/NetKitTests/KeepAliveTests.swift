// SPDX-License-Identifier: Apache-2.0

import NetKit
import Testing

@Suite("silent peers")
struct KeepAliveTests {
    @Test("a silent peer is asked, then given up; any byte starts over")
    func ticks() {
        var keepAlive = KeepAlive(allowedMisses: 2)
        #expect((0..<5).map { _ in keepAlive.tick() } == [.none, .ping, .ping, .ping, .giveUp])
        keepAlive.recordProgress()
        #expect(keepAlive.tick() == .none)
        #expect(keepAlive.tick() == .ping)
        keepAlive.recordProgress()
        #expect(keepAlive.tick() == .none)
    }

    @Test("with one miss allowed the fourth tick without a byte is the end")
    func oneMiss() {
        var keepAlive = KeepAlive(allowedMisses: 1)
        keepAlive.recordProgress()
        #expect((0..<4).map { _ in keepAlive.tick() } == [.none, .ping, .ping, .giveUp])
    }
}
