// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NIOPosix
import NetKit
import ServiceLifecycle
import Synchronization
import Testing

@testable import RPC

let secret = "a cluster secret that is long enough for tests"
let echoMethod = RPCMethod(rawValue: 1)
let loops = MultiThreadedEventLoopGroup.singleton
let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

typealias TestHandler = @Sendable (RPCContext, ByteBuffer) async throws -> ByteBuffer

let echo: TestHandler = { _, payload in payload }

/// A service in its own group, which can be drained or killed.
final class Running<Subject: Service>: Sendable {
    let subject: Subject
    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    init(_ subject: Subject) {
        self.subject = subject
        let group = ServiceGroup(configuration: .init(services: [subject], logger: quiet))
        self.group = group
        self.task = Task { try await group.run() }
    }

    /// Shuts down gracefully and waits for the end.
    func drain() async {
        await group.triggerGracefulShutdown()
        _ = await task.result
    }

    func kill() async {
        task.cancel()
        _ = await task.result
    }
}

func startServer(
    port: Int = 0, on group: any EventLoopGroup = loops, _ change: (inout RPCServerConfiguration) -> Void = { _ in },
    handler: @escaping TestHandler = echo, isShort: @escaping @Sendable (RPCMethod) -> Bool = { _ in false }
) async throws -> (Running<RPCServer>, port: Int) {
    var configuration = RPCServerConfiguration(host: "127.0.0.1", port: port, clusterSecret: secret)
    // Long timeouts, because test machines are slow. Tests about time set their own.
    configuration.helloTimeout = .seconds(40)
    configuration.pingInterval = .seconds(20)
    change(&configuration)
    let server = Running(
        RPCServer(
            configuration: configuration, eventLoopGroup: group, logger: quiet, isShort: isShort, handler: handler))
    return (server, try await server.subject.boundPort)
}

/// - Parameter group: The event loops; one by default, so that each server has one connection.
func startClient(
    _ ports: [Int], on group: any EventLoopGroup = loops.next(),
    _ change: (inout RPCClientConfiguration) -> Void = { _ in }
) -> Running<RPCClient> {
    let endpoints = ports.map { RPCEndpoint(host: "127.0.0.1", port: $0) }
    var configuration = RPCClientConfiguration(target: .fixed(endpoints), clusterSecret: secret)
    configuration.backoff = Backoff(initial: .milliseconds(5), maximum: .milliseconds(50))
    configuration.connectTimeout = .seconds(40)
    configuration.pingInterval = .seconds(20)
    change(&configuration)
    return Running(RPCClient(configuration: configuration, eventLoopGroup: group, logger: quiet))
}

func withPair(
    clientLoops: any EventLoopGroup = loops.next(), server: (inout RPCServerConfiguration) -> Void = { _ in },
    client: (inout RPCClientConfiguration) -> Void = { _ in },
    isShort: @escaping @Sendable (RPCMethod) -> Bool = { _ in false }, handler: @escaping TestHandler = echo,
    _ body: (RPCClient) async throws -> Void
) async throws {
    let (running, port) = try await startServer(server, handler: handler, isShort: isShort)
    let calling = startClient([port], on: clientLoops, client)
    let result: Result<Void, any Error>
    do { result = .success(try await body(calling.subject)) } catch { result = .failure(error) }
    await calling.kill()
    await running.kill()
    try result.get()
}

extension RPCClient {
    func echo(
        _ payload: ByteBuffer, within limit: Duration = .seconds(60), isIdempotent: Bool = false
    ) async throws(RPCError) -> ByteBuffer {
        try await call(echoMethod, with: payload, deadline: .now + limit, trace: .random(), isIdempotent: isIdempotent)
    }

    /// Returns the error with which a call ends; nil if it succeeds.
    func failure(within limit: Duration = .seconds(60), isIdempotent: Bool = false) async -> RPCError.Code? {
        await error(within: limit, isIdempotent: isIdempotent)?.code
    }

    func error(within limit: Duration = .seconds(60), isIdempotent: Bool = false) async -> RPCError? {
        do throws(RPCError) {
            _ = try await echo(ByteBuffer(string: "x"), within: limit, isIdempotent: isIdempotent)
            return nil
        } catch {
            return error
        }
    }

    var connected: Int { balancer.withLock { $0.readyCount } }
}

/// Counts events and lets a test await them.
final class Events<Event: Sendable>: Sendable {
    private let stream: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    func post(_ event: Event) { continuation.yield(event) }

    func next() async -> Event? {
        await stream.first { _ in true }
    }
}

final class Count: Sendable {
    private let value = Atomic<Int>(0)
    func add() { value.wrappingAdd(1, ordering: .relaxed) }
    var total: Int { value.load(ordering: .relaxed) }
}
