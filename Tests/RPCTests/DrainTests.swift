// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TestTiers
import Testing

@testable import RPC

@Suite(.timeLimit(.minutes(3)))
struct DrainTests {
    @Test("a draining server finishes its running calls")
    func finishes() async throws {
        let gate = Gate()
        let (server, port) = try await startServer(handler: gate.handler)
        let client = startClient([port])
        let calls = (0..<20).map { _ in Task { await client.subject.failure() } }
        for _ in calls { await gate.arrived() }
        let drained = Task { await server.drain() }
        try await eventually("the client has turned away") { client.subject.connected == 0 }
        #expect(await client.subject.failure() == .unavailable)
        gate.open()
        for call in calls { #expect(await call.value == nil) }
        await drained.value
        await client.kill()
    }

    @Test("a rolling removal of instances under load loses no call")
    func rolling() async throws {
        let (stable, stablePort) = try await startServer()
        var (other, otherPort) = try await startServer()
        let client = startClient([stablePort, otherPort])
        try await eventually("both are connected") { client.subject.connected == 2 }
        let stop = Count()
        let done = Count()
        let load = (0..<16)
            .map { _ in
                Task {
                    var failures: [RPCError.Code] = []
                    while stop.total == 0 {
                        if let code = await client.subject.failure() { failures.append(code) }
                        done.add()
                    }
                    return failures
                }
            }
        for _ in 0..<5 {
            let before = done.total
            try await eventually("calls are made") { done.total > before + 200 }
            await other.drain()
            (other, otherPort) = try await startServer(port: otherPort)
            try await eventually("it is back") { client.subject.connected == 2 }
        }
        stop.add()
        for worker in load { #expect(await worker.value == []) }
        await client.kill()
        await other.kill()
        await stable.kill()
    }

    @Test("a request that crosses the goaway is still answered")
    func crossing() async throws {
        let gate = Gate()
        let (server, port) = try await startServer(handler: gate.handler)
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            guard case .welcome = try await peer.open() else { throw Unexpected() }
            let drained = Task { await server.drain() }
            #expect(try await peer.next() == .goaway)
            try await peer.send(.request(id: 1, StrangerTests.held, payload: ByteBuffer(string: "late")))
            await gate.arrived()
            try await peer.send(.goaway)
            gate.open()
            #expect(try await peer.next() == .answer(id: 1, payload: ByteBuffer(string: "late")))
            #expect(try await peer.next() == nil)
            await drained.value
        }
    }

    @Test("draining ends even if a handler does not return")
    func bounded() async throws {
        let gate = Gate()
        let (server, port) = try await startServer({ $0.drainTimeout = .milliseconds(50) }, handler: gate.handler)
        let client = startClient([port])
        let call = Task { await client.subject.failure() }
        await gate.arrived()
        await server.drain()
        #expect(await call.value == .transportLost)
        await client.kill()
    }

    @Test("a client that shuts down finishes its calls and accepts no new ones")
    func client() async throws {
        let gate = Gate()
        let (server, port) = try await startServer(handler: gate.handler)
        let client = startClient([port])
        let call = Task { await client.subject.failure() }
        await gate.arrived()
        let drained = Task { await client.drain() }
        try await eventually("new calls are refused") {
            await client.subject.failure(within: .milliseconds(100)) == .unavailable
        }
        gate.open()
        #expect(await call.value == nil)
        await drained.value
        await server.kill()
    }
}
