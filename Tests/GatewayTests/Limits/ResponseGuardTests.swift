// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import Testing

@testable import Gateway

@Suite("stalled connections", .timeLimit(.minutes(1)))
struct ResponseGuardTests {
    /// A connection whose client takes nothing until it is told to.
    private struct Scene {
        let channel = NIOAsyncTestingChannel()
        let budget = AnswerBudget(limit: 1 << 20)
        let network: NIOLoopBound<StalledNetwork>
        var loop: NIOAsyncTestingEventLoop { channel.testingEventLoop }
        var isOpen: Bool { channel.isActive }

        init() async throws {
            try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
            let (channel, budget) = (channel, budget)
            network = try await channel.testingEventLoop.executeInContext {
                let network = StalledNetwork()
                try channel.pipeline.syncOperations.addHandler(network)
                try channel.pipeline.syncOperations.addHandler(ResponseGuard(budget, ResponseGuard.Patience(limit: .seconds(60))))
                return NIOLoopBound(network, eventLoop: channel.eventLoop)
            }
        }

        func write(_ bytes: Int) async throws {
            let channel = channel
            try await loop.executeInContext { channel.writeAndFlush(ByteBuffer(repeating: 0, count: bytes), promise: nil) }
        }

        func take(_ count: Int = .max) async throws {
            let network = network
            try await loop.executeInContext { network.value.take(count) }
        }

        /// Passes in steps, as time does.
        func pass(_ seconds: Int64) async {
            for _ in 0..<seconds { await loop.advanceTime(by: .seconds(1)) }
        }
    }

    @Test("what is written counts until the client has taken it, or has gone")
    func counted() async throws {
        let scene = try await Scene()
        try await scene.write(1000)
        try await scene.write(500)
        #expect(scene.budget.inUse == 1500)
        try await scene.take(1)
        #expect(scene.budget.inUse == 500)
        try await scene.channel.close().get()
        #expect(scene.budget.inUse == 0)
    }

    @Test("a client that takes nothing for so long is cut off, one that takes something now and then is not, nor one for which nothing waits")
    func stall() async throws {
        let scene = try await Scene()
        for _ in 0..<4 { try await scene.write(1000) }
        for _ in 0..<3 {
            await scene.pass(50)
            try await scene.take(1)
        }
        #expect(scene.isOpen)
        await scene.pass(50)
        try await scene.take()
        await scene.pass(600)
        #expect(scene.isOpen)
        try await scene.write(1000)
        await scene.pass(59)
        #expect(scene.isOpen)
        await scene.pass(6)
        #expect(!scene.isOpen)
        #expect(scene.budget.inUse == 0)
    }

    @Test("more that is written is no sign that the client takes something")
    func more() async throws {
        let scene = try await Scene()
        for _ in 0..<60 {
            try await scene.write(10)
            await scene.pass(1)
        }
        await scene.pass(6)
        #expect(!scene.isOpen)
    }

    @Test("while there is little room left for answers to others, the patience is a twelfth")
    func pressure() async throws {
        let scene = try await Scene()
        scene.budget.add(900 << 10)
        try await scene.write(1000)
        await scene.pass(4)
        #expect(scene.isOpen)
        await scene.pass(2)
        #expect(!scene.isOpen)
        #expect(scene.budget.inUse == 900 << 10)
    }
}
