// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import Testing

@testable import FanOut
@testable import Gateway

@Suite("stalled connections", .timeLimit(.minutes(3)))
struct ResponseGuardTests {
    /// A connection whose client reads only when told to.
    private struct Scene {
        let channel = NIOAsyncTestingChannel()
        let budget = AnswerBudget(limit: 1 << 20)
        let network: NIOLoopBound<StalledNetwork>
        var loop: NIOAsyncTestingEventLoop { channel.testingEventLoop }

        /// Checks the channel's state. The scene must not be part of the expectation, because a failure prints it, and
        /// a channel is nested too deeply for that.
        func expect(isOpen: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
            let isActive = channel.isActive
            #expect(isActive == isOpen, sourceLocation: sourceLocation)
        }

        init() async throws {
            try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
            let (channel, budget) = (channel, budget)
            network = try await channel.testingEventLoop.executeInContext {
                let network = StalledNetwork()
                try channel.pipeline.syncOperations.addHandler(network)
                try channel.pipeline.syncOperations.addHandler(
                    ResponseGuard(budget, patience: ResponseGuard.Patience(limit: .seconds(60))))
                return NIOLoopBound(network, eventLoop: channel.eventLoop)
            }
        }

        func write(_ bytes: Int) async throws {
            let channel = channel
            try await loop.executeInContext {
                channel.writeAndFlush(ByteBuffer(repeating: 0, count: bytes), promise: nil)
            }
        }

        func take(_ count: Int = .max) async throws {
            let network = network
            try await loop.executeInContext { network.value.take(count) }
        }

        /// Advances time in steps of one second.
        func pass(_ seconds: Int64) async {
            for _ in 0..<seconds { await loop.advanceTime(by: .seconds(1)) }
        }
    }

    @Test("written bytes count until the client has read them or disconnected")
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

    @Test(
        "a client that reads nothing for a period is disconnected, unless it reads occasionally or nothing is pending")
    func stall() async throws {
        let scene = try await Scene()
        for _ in 0..<4 { try await scene.write(1000) }
        for _ in 0..<3 {
            await scene.pass(50)
            try await scene.take(1)
        }
        scene.expect(isOpen: true)
        await scene.pass(50)
        try await scene.take()
        await scene.pass(600)
        scene.expect(isOpen: true)
        try await scene.write(1000)
        await scene.pass(59)
        scene.expect(isOpen: true)
        await scene.pass(6)
        scene.expect(isOpen: false)
        #expect(scene.budget.inUse == 0)
    }

    /// A channel queue with a single write, from which the client reads a little at a time. Must be used on the loop.
    private final class Trickle: ChannelOutboundHandler {
        typealias OutboundIn = IOData
        typealias OutboundOut = IOData

        private var left = 0
        private var context: ChannelHandlerContext?

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }
        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            left = unwrapOutboundIn(data).readableBytes
            context.write(wrapOutboundOut(.byteBuffer(ByteBuffer(repeating: 0, count: left))), promise: nil)
        }

        /// Does nothing. Unflushed bytes count as not yet sent by the channel.
        func flush(context: ChannelHandlerContext) {}

        func take(_ bytes: Int) {
            left -= bytes
            context?.flush()
            context?.write(wrapOutboundOut(.byteBuffer(ByteBuffer(repeating: 0, count: left))), promise: nil)
        }
    }

    @Test("each byte of a long write that the client reads counts as progress")
    func trickle() async throws {
        let channel = NIOAsyncTestingChannel()
        let loop = channel.testingEventLoop
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        let trickle = try await loop.executeInContext {
            let trickle = Trickle()
            try channel.pipeline.syncOperations.addHandler(trickle)
            try channel.pipeline.syncOperations.addHandler(
                ResponseGuard(AnswerBudget(limit: 1 << 20), patience: ResponseGuard.Patience(limit: .seconds(60))))
            channel.writeAndFlush(ByteBuffer(repeating: 0, count: 1000), promise: nil)
            return NIOLoopBound(trickle, eventLoop: channel.eventLoop)
        }
        for _ in 0..<6 {
            for _ in 0..<50 { await loop.advanceTime(by: .seconds(1)) }
            try await loop.executeInContext { trickle.value.take(1) }
        }
        let goesOn = channel.isActive
        #expect(goesOn)
        for _ in 0..<66 { await loop.advanceTime(by: .seconds(1)) }
        let isOpen = channel.isActive
        #expect(!isOpen)
    }

    @Test("further writes are no sign that the client reads")
    func more() async throws {
        let scene = try await Scene()
        for _ in 0..<60 {
            try await scene.write(10)
            await scene.pass(1)
        }
        await scene.pass(6)
        scene.expect(isOpen: false)
    }

    @Test("while memory is short, the patience is a twelfth")
    func pressure() async throws {
        let scene = try await Scene()
        scene.budget.add(900 << 10)
        try await scene.write(1000)
        await scene.pass(4)
        scene.expect(isOpen: true)
        await scene.pass(2)
        scene.expect(isOpen: false)
        #expect(scene.budget.inUse == 900 << 10)
    }
}
