// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import ProtocolClient
import Testing

@testable import StrataKit

/// Calls that are in progress when their client is closed and the next client opens the same folder.
@Suite("a client that is closed during a call", .timeLimit(.minutes(2)))
struct ClosedClientTests {
    private let clients = OfflineClients()
    private let ana = WireJSON.ana
    private let ben = WireJSON.ben

    private var users: [UserID?] { get throws { try SessionFile(folder: clients.folder).all.map(\.userID) } }

    @Test("a sign-in of a closed client does not overwrite the sessions of the next client")
    func signIn() async throws {
        let server = try await HeldServer()
        let first = try StrataClient(
            appID: OfflineClients.appID, options: .init(server: server.url, directory: clients.directory))
        let signIn = Task { try await first.authenticate(identityToken: "token") }
        let request = try await #require(server.nextRequest())
        await first.close()
        let second = try clients.client((ben, "b"))
        // The sign-out that follows is refused at once.
        try await server.close()
        let answer: JSONValue = ["session_token": "a", "identity": WireJSON.identity(ana)]
        try await request.writeAndFlush(HeldServer.response(answer))
        await #expect(throws: CancellationError.self) { try await signIn.value }
        #expect(try users == [ben])
        #expect(await second.currentSession?.userID == ben)
        await second.close()
    }

    @Test("a sign-out of a closed client does not overwrite the sessions of the next client, which removes the data")
    func signOut() async throws {
        let first = try clients.client((ana, "a"))
        let engine = try await #require(first.engine)
        let (holding, begun) = AsyncStream.makeStream(of: Void.self)
        let end = DispatchSemaphore(value: 0)
        defer { end.signal() }
        let hold = Task { await engine.hold(begun, until: end) }
        for await _ in holding {}
        let signOut = Task { try await first.deauthenticate() }
        // The sign-out has released the engine, and waits until it stops.
        while await first.engine != nil { await Task.yield() }
        await first.close()
        let second = try clients.client((ben, "b"))
        #expect(try clients.stores.count == 1)
        end.signal()
        await hold.value
        try await signOut.value
        #expect(try users == [ben])
        #expect(try clients.stores.count == 1)
        #expect(await second.currentSession?.userID == ben)
        await second.close()
    }
}

extension SyncEngine {
    /// Keeps the engine busy until `end` is signalled. Finishes `begun` first.
    fileprivate func hold(_ begun: AsyncStream<Void>.Continuation, until end: DispatchSemaphore) {
        begun.finish()
        end.wait()
    }
}

/// An HTTP server that answers no request. The test writes the response to the request's channel.
private final class HeldServer: Sendable {
    private let server: any Channel
    private let requests: AsyncStream<any Channel>

    init() async throws {
        let (requests, received) = AsyncStream.makeStream(of: (any Channel).self)
        self.requests = requests
        server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RequestHandler(received))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    var url: URL { get throws { try #require(URL(string: "http://127.0.0.1:\(server.localAddress?.port ?? 0)")) } }

    /// Returns the channel of the next request, once its first bytes have arrived.
    func nextRequest() async -> (any Channel)? {
        for await channel in requests { return channel }
        return nil
    }

    /// Closes the port. Accepted connections stay open.
    func close() async throws { try await server.close() }

    static func response(_ body: JSONValue) -> ByteBuffer {
        let text = body.text
        let head = "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Type: application/json\r\n"
        return ByteBuffer(string: "\(head)Content-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }
}

private final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: AsyncStream<any Channel>.Continuation

    init(_ received: AsyncStream<any Channel>.Continuation) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { received.yield(context.channel) }
}
