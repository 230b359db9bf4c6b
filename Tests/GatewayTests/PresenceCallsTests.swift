// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import RPC
import StrataModel
import SwiftProtobuf
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// The gateway's calls to the presence service. A fake service records them.
@Suite("Presence calls of gateways", .timeLimit(.minutes(2)))
struct PresenceCallsTests {
    /// A fake presence service that refuses more than ``PresenceAPI/maximumItems`` items at once, as the real one does.
    private final class FakePresence: Sendable {
        struct State {
            var renewed: [[UInt64]] = []
            var asked: [[String]] = []
        }
        let state = Mutex(State())

        func router(_ logger: Logger) -> CallRouter {
            var router = CallRouter(logger: logger)
            router.register(PresenceAPI.renewPresence) { request, _ in
                try Self.check(request.leases.count)
                let connections = request.leases.map(\.connection)
                self.state.withLock { $0.renewed.append(connections) }
                return .with {
                    $0.forgotten = request.leases.filter { $0.connection % 1000 == 0 }
                    $0.renewAfterMs = 9000
                }
            }
            router.register(PresenceAPI.getPresence) { request, _ in
                try Self.check(request.userIds.count)
                self.state.withLock { $0.asked.append(request.userIds) }
                return .with { answer in
                    answer.presences = request.userIds.map { user in
                        .with {
                            $0.appID = request.appID
                            $0.userID = user
                            $0.status = "busy"
                        }
                    }
                }
            }
            return router
        }

        private static func check(_ count: Int) throws(Failure) {
            guard count <= PresenceAPI.maximumItems else { throw Failure(.invalidRequest, "too many at once") }
        }
    }

    private func withServices(_ body: (GatewayServices, FakePresence) async throws -> Void) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (group, secret) = (MultiThreadedEventLoopGroup.singleton, String(repeating: "x", count: 32))
        let fake = FakePresence()
        let router = fake.router(logger)
        let server = RPCServer(
            configuration: RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: secret),
            eventLoopGroup: group, logger: logger,
            handler: { context, payload in try await router.handleCall(context, payload: payload) })
        let serving = Task { try await server.run() }
        let endpoint = RPCEndpoint(host: "127.0.0.1", port: try await server.boundPort)
        func configuration(_ name: String) -> RPCClientConfiguration {
            RPCClientConfiguration(target: .fixed([endpoint]), clusterSecret: secret, name: name)
        }
        let clients = ["conversations", "metadata", "presence"]
            .map {
                RPCClient(configuration: configuration($0), eventLoopGroup: group, logger: logger)
            }
        let calling = Task { try await clients[2].run() }
        let settings = GatewaySettings(
            publicURL: "https://chat.example.org", redisURL: "redis://127.0.0.1:1", clusterSecret: secret,
            backends: GatewaySettings.Backends(
                conversations: configuration("conversations"), metadata: configuration("metadata"),
                presence: configuration("presence")))
        let services = GatewayServices(
            conversations: clients[0], metadata: clients[1], presence: clients[2], settings: settings, logger: logger)
        defer {
            calling.cancel()
            serving.cancel()
        }
        try await body(services, fake)
    }

    @Test("any number of leases is renewed in batches, and their forgotten connections are merged")
    func renewal() async throws {
        try await withServices { services, fake in
            let leases = (1...12_001)
                .map { (key: UserKey(app: Fixture.app, user: UserID(trusted: "u\($0)")), connection: UInt64($0)) }
            #expect(services.renewalPeriod.seconds == 20)
            let forgotten = await services.renewPresence(leases)
            #expect(forgotten == Set((1...12).map { UInt64($0 * 1000) }))
            #expect(fake.state.withLock { $0.renewed.flatMap { $0 } } == leases.map(\.connection))
            // The service defines the renewal interval of leases.
            #expect(services.renewalPeriod.seconds == 9)
        }
    }

    @Test("presence of any number of users is returned in request order")
    func presences() async throws {
        try await withServices { services, fake in
            let users = (1...12_001).map { UserID(trusted: "u\($0)") }
            let call = GatewayServices.Call(UserKey(app: Fixture.app, user: Fixture.ana), budget: .seconds(60))
            let found = try await services.presences(of: users, for: call)
            #expect(found.map(\.user) == users)
            #expect(try await services.presences(of: [], for: call).isEmpty)
            #expect(fake.state.withLock { $0.asked.allSatisfy { !$0.isEmpty } })
        }
    }

    @Test("a service of an older version names no renewal period, and the gateway uses twenty seconds")
    func untold() {
        let period = RenewalPeriod()
        period.updated(milliseconds: 0)
        #expect(period.seconds == 20)
        period.updated(milliseconds: 333)
        #expect(period.seconds == 1)
    }

    @Test("a silent peer's presence ends with its silence, not two seconds later when the connection has ended")
    func silence() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.onLoop { harness in
            socket.socket.presence.chosen("auto", isOpen: true)
            harness.home.startUpkeep()
        }
        for _ in 0..<119 { await harness.loop.advanceTime(by: .seconds(1)) }
        #expect(try await harness.onLoop { _ in socket.socket.presence.isHeld && !socket.socket.isClosing })
        for _ in 0..<3 { await harness.loop.advanceTime(by: .seconds(1)) }
        #expect(
            try await harness.onLoop { _ in
                !socket.socket.presence.isHeld && socket.socket.isClosing && socket.socket.isOpen
            })
        try await harness.onLoop { $0.home.stopUpkeep() }
    }
}
