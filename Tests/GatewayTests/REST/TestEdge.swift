// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import RPC
import ServiceKit
import StrataModel
import StrataWire
import SwiftProtobuf

@testable import Gateway

/// The REST half of a gateway, without connections. Its conversations service knows one session and refuses everything
/// else.
struct TestEdge {
    static let token = "ana-is-signed-in"
    static let version = [HTTPField(name: .accept, value: "application/vnd.layer+json; version=3.0")]
    static let signedIn = version + [HTTPField(name: .authorization, value: "Layer session-token=\"\(token)\"")]

    struct Answer {
        let status: Int
        let headers: HTTPFields
        let body: ByteBuffer
        var json: JSONValue? { try? JSONReader.parse(body) }
        var errorID: String? { json?["id"]?.stringValue }
    }

    let services: GatewayServices
    let routes: RESTRoutes
    private let responder: LongRequests<MethodOverride<RouterResponder<RESTContext>>>
    private let logger: Logger

    private init(_ services: GatewayServices, _ logger: Logger) {
        self.services = services
        self.logger = logger
        let router = RESTRouter(services: services, nonceKey: Nonce.Key(clusterSecret: Self.secret))
        routes = router.routes()
        responder = router.responder()
    }

    private static let secret = String(repeating: "x", count: 32)

    /// - Parameter change: Modifies the default settings.
    static func run(
        settings change: (inout GatewaySettings) -> Void = { _ in }, _ body: (TestEdge) async throws -> Void
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = MultiThreadedEventLoopGroup.singleton
        var router = CallRouter(logger: logger)
        router.register(ConversationsAPI.findSession) { request, _ in
            guard [UInt8](request.tokenDigest) == SessionToken(token)?.digest else {
                throw Failure(.authenticationRequired, "Please sign in.")
            }
            return .with {
                $0.appID = Data(Fixture.app)
                $0.identity.userID = Fixture.ana.rawValue
            }
        }
        let server = RPCServer(
            configuration: RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: secret),
            eventLoopGroup: group, logger: logger
        ) { [router] in try await router.handleCall($0, payload: $1) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await server.run() }
            let target = RPCClientConfiguration(
                target: .fixed([RPCEndpoint(host: "127.0.0.1", port: try await server.boundPort)]),
                clusterSecret: secret, name: "conversations")
            let client = RPCClient(configuration: target, eventLoopGroup: group, logger: logger)
            tasks.addTask { try await client.run() }
            while !client.isAvailable { try await Task.sleep(for: .milliseconds(5)) }
            var settings = GatewaySettings(
                publicURL: "https://chat.example.org", redisURL: "redis://127.0.0.1:1", clusterSecret: secret,
                backends: GatewaySettings.Backends(conversations: target, metadata: target, presence: target))
            change(&settings)
            try await body(
                TestEdge(
                    GatewayServices(
                        conversations: client, metadata: client, presence: client, settings: settings, logger: logger),
                    logger))
            tasks.cancelAll()
            while let result = await tasks.nextResult() { _ = result }
        }
    }

    func ask(
        _ method: HTTPRequest.Method, _ path: String, _ headers: [HTTPField] = [], body: String = ""
    ) async throws -> Answer {
        var fields = HTTPFields(headers)
        if !body.isEmpty { fields[.contentLength] = "\(body.utf8.count)" }
        let request = Request(
            head: HTTPRequest(
                method: method, scheme: "https", authority: "chat.example.org", path: path, headerFields: fields),
            body: RequestBody(buffer: ByteBuffer(string: body)))
        let channel = NIOAsyncTestingChannel()
        let context = RESTContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        let response = try await responder.respond(to: request, context: context)
        let written = WrittenBytes()
        try await response.body.write(written)
        return Answer(status: response.status.code, headers: response.headers, body: written.bytes)
    }
}

private final class WrittenBytes: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) { bytes.writeImmutableBuffer(buffer) }
    func finish(_ trailingHeaders: HTTPFields?) {}
}
