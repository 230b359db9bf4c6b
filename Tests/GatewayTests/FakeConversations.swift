// SPDX-License-Identifier: Apache-2.0
import Contracts
import Logging
import Model
import NIOCore
import NIOPosix
import RPC
import SwiftProtobuf
import Synchronization

@testable import Gateway

/// A conversations service that answers what the test says, over the real RPC.
final class FakeConversations: Sendable {
    struct Answers {
        var baseline: @Sendable () throws -> ProtoBaselineResponse = { .with { $0.complete = true } }
        var page: @Sendable (ProtoReadLogsRequest) async throws -> ProtoReadLogsResponse = { _ in .with { $0.metHeads = true } }
        var baselines = 0
        var pages = 0
    }
    let answers = Mutex(Answers())

    private static let secret = String(repeating: "x", count: 32)

    /// Runs the service while `body` runs, with a harness whose gateway calls it.
    static func run(_ body: (GatewayHarness, FakeConversations) async throws -> Void) async throws {
        let fake = FakeConversations()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let router = fake.router(logger)
        let loops = MultiThreadedEventLoopGroup.singleton
        let server = RPCServer(
            configuration: RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: secret), eventLoopGroup: loops, logger: logger
        ) { try await router.handle($0, $1) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await server.run() }
            let port = try await server.boundPort
            let client = RPCClient(
                configuration: RPCClientConfiguration(target: .fixed([RPCEndpoint(host: "127.0.0.1", port: port)]), clusterSecret: secret),
                eventLoopGroup: loops, logger: logger)
            tasks.addTask { try await client.run() }
            while !client.isAvailable { try await Task.sleep(for: .milliseconds(5)) }
            try await body(try await GatewayHarness(conversations: client), fake)
            tasks.cancelAll()
            while let result = await tasks.nextResult() { _ = result }
        }
    }

    private func router(_ logger: Logger) -> CallRouter {
        var router = CallRouter(logger: logger)
        router.register(ConversationsAPI.baseline) { _, _ in
            let answer = self.answers.withLock { answers in
                answers.baselines += 1
                return answers.baseline
            }
            return try answer()
        }
        router.register(ConversationsAPI.readLogs) { request, _ in
            let answer = self.answers.withLock { answers in
                answers.pages += 1
                return answers.page
            }
            return try await answer(request)
        }
        return router
    }
}

/// Something that has happened, or not yet.
final class Flag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
