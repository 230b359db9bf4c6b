// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOPosix
import RPC
import ServiceLifecycle
import StrataModel
import Testing

@testable import Contracts
@testable import ServiceKit

// A complete service on one page, as a template for new ones (docs/adding-a-feature.md).

/// The service's methods.
private enum GreetingAPI {
    static let greet = Endpoint<ProtoTypingRequest, ProtoEmpty>(65_000, effect: .read)
}

/// The operator's settings.
private struct GreetingSettings: ServiceSettings {
    var rpc: RPCServerConfiguration
    var longestName = 20

    init(_ settings: Settings, common: CommonSettings) throws {
        rpc = try settings.rpcServer(name: "greeting", common)
        longestName = try settings.int("STRATA_GREETING_LONGEST_NAME", default: longestName, in: 1...100)
    }
}

/// The handler of one feature's calls.
private struct GreetingHandler: CallHandler {
    let longestName: Int

    func register(on router: inout CallRouter) {
        router.register(GreetingAPI.greet) { request, _ in try greet(request) }
    }

    func greet(_ request: ProtoTypingRequest) throws -> ProtoEmpty {
        guard request.userID.count <= longestName else { throw Failure.invalid("user_id", reason: "is too long") }
        return ProtoEmpty()
    }
}

private final class GreetingService: StrataService {
    static let name = "greeting"

    private let server: RPCServer

    init(settings: GreetingSettings, environment: ServiceEnvironment) throws {
        server = RPCServer(
            [GreetingHandler(longestName: settings.longestName)], configuration: settings.rpc,
            eventLoopGroup: environment.eventLoopGroup,
            logger: environment.logger)
    }

    var services: [any Service] { [server] }
    var rpcPort: Int { get async throws { try await server.boundPort } }

    func addChecks(to health: Health) {
        health.add("listener") { [server] in _ = try await server.boundPort }
    }
}

@Suite("an additional service", .timeLimit(.minutes(3)))
struct FifthServiceTests {
    private static let secret = String(repeating: "s", count: 32)

    @Test("a one-page service reads its settings, answers calls and refusals, is ready, and stops")
    func runs() async throws {
        let settings = Settings(environment: [
            "STRATA_CLUSTER_SECRET": Self.secret, "STRATA_RPC_HOST": "127.0.0.1", "STRATA_RPC_PORT": "0",
            "STRATA_GREETING_LONGEST_NAME": "3",
        ])
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let environment = ServiceEnvironment(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger)
        let service = try GreetingService(
            settings: GreetingSettings(settings, common: CommonSettings(settings)), environment: environment)
        let running = Task { try await service.run() }
        let endpoint = RPCEndpoint(host: "127.0.0.1", port: try await service.rpcPort)
        let client = RPCClient(
            configuration: RPCClientConfiguration(target: .fixed([endpoint]), clusterSecret: Self.secret),
            eventLoopGroup: environment.eventLoopGroup, logger: logger)
        let connecting = Task { try await client.run() }
        func greet(_ name: String) async throws {
            var request = ProtoTypingRequest()
            request.userID = name
            _ = try await client.call(GreetingAPI.greet, with: request, for: .within(.seconds(30)))
        }
        try await greet("ana")
        await #expect(throws: Failure.invalid("user_id", reason: "is too long")) { try await greet("anastasia") }
        let health = Health()
        service.addChecks(to: health)
        #expect(await health.report().isReady)
        connecting.cancel()
        running.cancel()
        _ = try? await connecting.value
        try await running.value
    }
}
