// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import Logging
import NIOPosix
import RPC
import StrataModel
import SwiftProtobuf
import Synchronization
import Testing

@testable import Gateway

@Suite("session directory", .timeLimit(.minutes(1)))
struct SessionDirectoryTests {
    /// The calls of the service, which are answered when the test says so.
    private final class Service: Sendable {
        private struct State {
            var running: [CheckedContinuation<Void, Never>] = []
            var isOpen = false
            var most = 0
            var calls = 0
        }

        private let state = Mutex(State())

        var running: Int { state.withLock { $0.running.count } }
        /// The largest number of calls at the same time, and the number of all calls.
        var counts: (most: Int, calls: Int) { state.withLock { ($0.most, $0.calls) } }

        func wait() async {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    state.calls += 1
                    if !state.isOpen {
                        state.running.append(continuation)
                        state.most = max(state.most, state.running.count)
                    }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }

        /// Answers all calls, and later ones at once.
        func open() {
            let running = state.withLock { state in
                state.isOpen = true
                defer { state.running = [] }
                return state.running
            }
            for continuation in running { continuation.resume() }
        }
    }

    private static let secret = String(repeating: "x", count: 32)

    @Test("clients that connect at once leave room for the calls of others, and all are signed in")
    func storm() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (group, service) = (MultiThreadedEventLoopGroup.singleton, Service())
        var router = CallRouter(logger: logger)
        router.register(ConversationsAPI.findSession) { _, _ in
            await service.wait()
            return .with {
                $0.appID = Data(Fixture.app)
                $0.identity.userID = Fixture.ana.rawValue
            }
        }
        let server = RPCServer(
            configuration: RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: Self.secret),
            eventLoopGroup: group, logger: logger
        ) { [router] in try await router.handleCall($0, payload: $1) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await server.run() }
            let client = RPCClient(
                configuration: RPCClientConfiguration(
                    target: .fixed([RPCEndpoint(host: "127.0.0.1", port: try await server.boundPort)]),
                    clusterSecret: Self.secret),
                eventLoopGroup: group, logger: logger)
            tasks.addTask { try await client.run() }
            while !client.isAvailable { try await Task.sleep(for: .milliseconds(5)) }
            try await self.connect(SessionDirectory(conversations: client, opening: OpeningCalls()), service)
            tasks.cancelAll()
            while let result = await tasks.nextResult() { _ = result }
        }
    }

    /// Looks up twice as many sessions as may be looked up at once.
    private func connect(_ sessions: SessionDirectory, _ service: Service) async throws {
        let (limit, clients) = (OpeningCalls.limit, 2 * OpeningCalls.limit)
        try await withThrowingTaskGroup(of: UserID.self) { lookups in
            for number in 0..<clients {
                let token = try #require(SessionToken("token-\(number)"))
                lookups.addTask { try await sessions.session(for: token, trace: .random()).key.user }
            }
            while service.running < limit { await Task.yield() }
            service.open()
            let users = try await lookups.reduce(into: []) { $0.append($1) }
            #expect(users == Array(repeating: Fixture.ana, count: clients))
        }
        #expect(service.counts.most == limit)
        #expect(service.counts.calls == clients)
    }
}
