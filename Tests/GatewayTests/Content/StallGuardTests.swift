// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import Testing

@testable import Gateway

@Suite("stalled downloads")
struct StallGuardTests {
    @Test("a connection is closed when nothing moves, and not while something does")
    func stall() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        let stall = StallGuard(channel, limit: .seconds(60))
        for _ in 0..<5 {
            stall.moved()
            await channel.testingEventLoop.advanceTime(by: .seconds(60))
            #expect(channel.isActive)
        }
        await channel.testingEventLoop.advanceTime(by: .seconds(60))
        #expect(!channel.isActive)
    }

    @Test("when all was sent, nobody watches any more")
    func stopped() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        StallGuard(channel, limit: .seconds(60)).stop()
        await channel.testingEventLoop.advanceTime(by: .seconds(600))
        #expect(channel.isActive)
        try await channel.close()
    }
}
