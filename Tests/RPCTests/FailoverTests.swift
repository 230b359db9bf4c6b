// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import TestTiers
import Testing

@testable import RPC

@Suite(.timeLimit(.minutes(3)))
struct FailoverTests {
    @Test("calls fail at once as unavailable if no server listens")
    func nobody() async throws {
        let (server, port) = try await startServer()
        await server.kill()
        let client = startClient([port])
        #expect(await client.subject.failure() == .unavailable)
        #expect(await client.subject.failure(isIdempotent: true) == .unavailable)
        await client.kill()
        #expect(await client.subject.failure() == .unavailable)
    }

    @Test("a call whose server is killed has an unknown fate")
    func killed() async throws {
        let gate = Gate()
        let (server, port) = try await startServer(handler: gate.handler)
        let client = startClient([port])
        let call = Task { await client.subject.failure() }
        await gate.arrived()
        await server.kill()
        #expect(await call.value == .transportLost)
        await client.kill()
    }

    @Test("an idempotent call lost in transit is answered by another instance")
    func retried() async throws {
        let gate = Gate()
        let (first, firstPort) = try await startServer(handler: gate.handler)
        let (second, secondPort) = try await startServer()
        let client = startClient([firstPort, secondPort])
        try await eventually("both are connected") { client.subject.connected == 2 }
        let calls = (0..<8).map { _ in Task { await client.subject.failure(isIdempotent: true) } }
        await gate.arrived()
        await first.kill()
        for call in calls { #expect(await call.value == nil) }
        await client.kill()
        await second.kill()
    }

    @Test("an error after a retry reports that the first instance may have carried out the refused request")
    func refusedAfterLoss() async throws {
        let gate = Gate()
        let (first, firstPort) = try await startServer(handler: gate.handler)
        let (second, secondPort) = try await startServer(handler: { _, _ in
            throw RPCError.application(ByteBuffer(string: "no"))
        })
        let client = startClient([firstPort, secondPort])
        try await eventually("both are connected") { client.subject.connected == 2 }
        let calls = (0..<8).map { _ in Task { await client.subject.error(isIdempotent: true) } }
        await gate.arrived()
        await first.kill()
        var errors: [RPCError?] = []
        for call in calls { errors.append(await call.value) }
        #expect(errors.allSatisfy { $0?.code == .application })
        // Some calls were at the first instance when it was killed. The others were refused at once.
        #expect(Set(errors.map { $0?.isAfterLoss }) == [true, false])
        await client.kill()
        await second.kill()
    }

    @Test("a call that is not idempotent is never sent twice")
    func notRetried() async throws {
        let gate = Gate()
        let others = Count()
        let (first, firstPort) = try await startServer(handler: gate.handler)
        let client = startClient([firstPort])
        let call = Task { await client.subject.failure() }
        await gate.arrived()
        let (second, _) = try await startServer(handler: { _, payload in
            others.add()
            return payload
        })
        await first.kill()
        #expect(await call.value == .transportLost)
        #expect(others.total == 0)
        await client.kill()
        await second.kill()
    }

    @Test("two instances share the load, one takes over when the other dies, and load is shared again on its return")
    func sharing() async throws {
        let counts = [Count(), Count()]
        let handlers = counts.map { count -> TestHandler in
            { _, payload in
                count.add()
                return payload
            }
        }
        let (first, firstPort) = try await startServer(handler: handlers[0])
        let (second, secondPort) = try await startServer(handler: handlers[1])
        let client = startClient([firstPort, secondPort])
        try await eventually("both are connected") { client.subject.connected == 2 }
        await calls(2000, client.subject)
        #expect(counts[0].total > 100)
        #expect(counts[1].total > 100)

        await first.kill()
        try await eventually("the loss is noticed") { client.subject.connected == 1 }
        let before = counts[1].total
        await calls(500, client.subject)
        #expect(counts[1].total == before + 500)

        let (again, _) = try await startServer(port: firstPort, handler: handlers[0])
        try await eventually("it is connected again") { client.subject.connected == 2 }
        let returned = counts[0].total
        await calls(1000, client.subject)
        #expect(counts[0].total > returned + 50)
        await client.kill()
        await second.kill()
        await again.kill()
    }

    private func calls(_ number: Int, _ client: RPCClient) async {
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<20 {
                group.addTask {
                    for _ in 0..<(number / 20) { #expect(await client.failure() == nil, "worker \(worker)") }
                }
            }
        }
    }

    @Test("connections follow the name: new addresses are used, and removed ones finish their calls")
    func resolving() async throws {
        let gate = Gate()
        let calls = Count()
        let (first, firstPort) = try await startServer(handler: gate.handler)
        let (second, secondPort) = try await startServer(handler: { _, payload in
            calls.add()
            return payload
        })
        let addresses = Mutex([try SocketAddress(ipAddress: "127.0.0.1", port: firstPort)])
        var configuration = RPCClientConfiguration(target: .dns(host: "service.test", port: 1), clusterSecret: secret)
        configuration.resolveInterval = .milliseconds(10)
        let client = Running(
            RPCClient(configuration: configuration, eventLoopGroup: loops.next(), logger: quiet) { _ in
                addresses.withLock { $0 }
            })
        let held = Task { await client.subject.failure() }
        await gate.arrived()
        let moved = try SocketAddress(ipAddress: "127.0.0.1", port: secondPort)
        addresses.withLock { $0 = [moved] }
        try await eventually("new calls go to the new address") {
            _ = await client.subject.failure(within: .milliseconds(200))
            return calls.total > 0
        }
        try await eventually("the old address is retired") { client.subject.connected == 1 }
        for _ in 0..<20 { #expect(await client.subject.failure() == nil) }
        gate.open()
        #expect(await held.value == nil)
        await client.kill()
        await first.kill()
        await second.kill()
    }

    @Test("the system resolves names without blocking any thread")
    func systemResolver() async throws {
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        let resolver = RPCResolver(threads: threads)
        let found = try await resolver.addresses(of: RPCEndpoint(host: "localhost", port: 99))
        #expect(found.contains { $0.ipAddress == "127.0.0.1" || $0.ipAddress == "::1" })
        #expect(found.allSatisfy { $0.port == 99 })
        await #expect(throws: RPCResolver.Failure.self) {
            try await resolver.addresses(of: RPCEndpoint(host: "name.invalid", port: 1))
        }
        try await threads.shutdownGracefully()
    }

    @Test("a name that cannot be resolved is unavailable, and shutting down does not wait for it")
    func unresolvable() async throws {
        let client = Running(
            RPCClient(
                configuration: .init(target: .dns(host: "name.invalid", port: 1), clusterSecret: secret),
                eventLoopGroup: loops, logger: quiet))
        #expect(await client.subject.failure() == .unavailable)
        await client.drain()
    }

    @Test("a server that stops reading is detected, and its calls fail")
    func stalled() async throws {
        try await withStall { stalling, port in
            let client = startClient([port]) { $0.pingInterval = .milliseconds(100) }
            try await eventually("it is connected") { client.subject.isAvailable }
            let release = stall(stalling)
            let calls = (0..<5).map { _ in Task { await client.subject.failure() } }
            for call in calls { #expect(await call.value == .transportLost) }
            release.signal()
            await client.kill()
        }
    }

    @Test("idempotent calls move from a server that stops reading to another one")
    func stalledFailover() async throws {
        let (second, secondPort) = try await startServer()
        try await withStall { stalling, port in
            let client = startClient([port, secondPort]) { $0.pingInterval = .seconds(1) }
            try await eventually("both are connected") { client.subject.connected == 2 }
            let connections = client.subject.balancer.withLock { balancer in
                (0..<2).compactMap { _ in balancer.pick(load: { _ in 0 })?.connection }
            }
            let first = try #require(connections.first { $0.address.port == port })
            let other = try #require(connections.first { $0.address.port == secondPort })
            let release = stall(stalling)
            // Simulate load on the other connection, so that the calls go to the stalling one.
            other.load.wrappingAdd(1000, ordering: .relaxed)
            let calls = (0..<5).map { _ in Task { await client.subject.failure(isIdempotent: true) } }
            try await eventually("the calls are under way") { first.load.load(ordering: .relaxed) == 5 }
            for call in calls { #expect(await call.value == nil) }
            release.signal()
            await client.kill()
        }
        await second.kill()
    }

    private func withStall(_ body: (MultiThreadedEventLoopGroup, Int) async throws -> Void) async throws {
        let stalling = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (server, port) = try await startServer(on: stalling)
        try await body(stalling, port)
        await server.kill()
        try await stalling.shutdownGracefully()
    }

    /// Blocks the loop until the semaphore is signalled, as SIGSTOP does to a process.
    private func stall(_ group: MultiThreadedEventLoopGroup) -> DispatchSemaphore {
        let release = DispatchSemaphore(value: 0)
        group.next().execute { release.wait() }
        return release
    }

    @Test("a client that neither sends nor reads is closed")
    func silentClient() async throws {
        let (server, port) = try await startServer({
            $0.pingInterval = .milliseconds(20)
            $0.pingMisses = 2
        })
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            guard case .welcome = try await peer.open() else { throw Unexpected() }
            #expect(try await peer.next() == nil)
        }
        await server.kill()
    }
}
