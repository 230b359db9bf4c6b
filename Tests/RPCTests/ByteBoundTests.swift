// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix
import NetKit
import Synchronization
import Testing

@testable import RPC

/// Limits in bytes: calls beyond the limit are refused at once, earlier ones continue, and there is room again
/// afterwards.
@Suite("byte limits", .timeLimit(.minutes(3)))
struct ByteBoundTests {
    private static let megabyte = ByteBuffer(repeating: 0x61, count: 1 << 20)

    private static func outcome(_ client: RPCClient, _ payload: ByteBuffer) async -> RPCError.Code? {
        do throws(RPCError) {
            return try await client.echo(payload).readableBytes == payload.readableBytes ? nil : .internal
        } catch {
            return error.code
        }
    }

    @Test("calls above the callee's byte limit are refused, and completed calls free capacity")
    func server() async throws {
        let gate = Gate()
        let bound: (inout RPCServerConfiguration) -> Void = { $0.maxBytesInFlight = 5 << 19 }
        try await withPair(server: bound, handler: gate.handler) { (client: RPCClient) async throws in
            let held = (0..<2).map { _ in Task { await Self.outcome(client, Self.megabyte) } }
            for _ in held { await gate.arrived() }
            #expect(await Self.outcome(client, Self.megabyte) == .overloaded)
            // A short call still fits.
            let short = Task { await client.failure() }
            await gate.arrived()
            gate.open()
            for call in held { #expect(await call.value == nil) }
            #expect(await short.value == nil)
            #expect(await Self.outcome(client, Self.megabyte) == nil)
        }
    }

    @Test("a single request larger than the limit is accepted")
    func alone() async throws {
        try await withPair(server: { $0.maxBytesInFlight = 1 << 19 }) { (client: RPCClient) async throws in
            for _ in 0..<3 { #expect(await Self.outcome(client, Self.megabyte) == nil) }
        }
    }

    @Test("the backlog for a server that does not read is limited, and answered when the server reads again")
    func client() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (server, port) = try await startServer(on: group)
        let calling = startClient([port]) { $0.maxQueuedBytes = 4 << 20 }
        let client = calling.subject
        #expect(await client.failure() == nil)
        let loop = group.next()
        let (hangs, goes) = (Latch(), Latch())
        loop.execute {
            hangs.open()
            goes.wait()
        }
        hangs.wait()
        let overloaded = Events<Void>()
        let calls = (0..<64)
            .map { _ in
                Task {
                    let outcome = await Self.outcome(client, Self.megabyte)
                    if outcome == .overloaded { overloaded.post(()) }
                    return outcome
                }
            }
        // Calls are refused while the server still hangs, and not at their deadlines.
        _ = await overloaded.next()
        let queued = client.balancer.withLock { $0.connections.reduce(0) { $0 + $1.queuedBytes } }
        #expect(queued > 0 && queued <= 4 << 20)
        goes.open()
        var outcomes: [RPCError.Code?] = []
        for call in calls { outcomes.append(await call.value) }
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .overloaded })
        #expect(outcomes.contains { $0 == nil })
        #expect(await Self.outcome(client, Self.megabyte) == nil)
        await calling.kill()
        await server.kill()
        try await group.shutdownGracefully()
    }

    @Test("a caller's incoming long answers share a byte limit; excess answers are refused, and capacity returns")
    func answers() async throws {
        let gate = Gate()
        let answer = ByteBuffer(repeating: 0x61, count: 16 << 20)
        let handler: TestHandler = { context, payload in
            _ = try await gate.handler(context, payload)
            return answer
        }
        try await withPair(client: { $0.maxArrivingBytes = 20 << 20 }, handler: handler) {
            (client: RPCClient) async throws in
            let calls = (0..<8)
                .map { _ in
                    Task { () -> RPCError.Code? in
                        do throws(RPCError) {
                            return try await client.echo(ByteBuffer()) == answer ? nil : .internal
                        } catch {
                            return error.code
                        }
                    }
                }
            for _ in calls { await gate.arrived() }
            gate.open()
            var outcomes: [RPCError.Code?] = []
            for call in calls { outcomes.append(await call.value) }
            #expect(outcomes.allSatisfy { $0 == nil || $0 == .overloaded })
            #expect(outcomes.contains { $0 == nil } && outcomes.contains { $0 == .overloaded })
            #expect(client.arriving.inUse == 0)
            #expect(try await client.echo(ByteBuffer()) == answer)
        }
    }

    @Test("answers on other connections count too, and a single answer above the limit is accepted")
    func answersOfAll() async throws {
        let answer = ByteBuffer(repeating: 0x61, count: 4 << 20)
        try await withPair(client: { $0.maxArrivingBytes = 2 << 20 }, handler: { _, _ in answer }) {
            (client: RPCClient) async throws in
            // Simulate another connection with pending answers.
            client.arriving.add(1 << 20)
            #expect(await Self.outcome(client, ByteBuffer()) == .overloaded)
            client.arriving.release(1 << 20)
            #expect(try await client.echo(ByteBuffer()) == answer)
            #expect(client.arriving.inUse == 0)
        }
    }
}

/// A blocking latch for threads, to simulate a hanging server.
private final class Latch: Sendable {
    private let isOpen = Atomic(false)

    func open() { isOpen.store(true, ordering: .releasing) }

    func wait() {
        while !isOpen.load(ordering: .acquiring) { usleep(1000) }
    }
}
