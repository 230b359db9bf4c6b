// SPDX-License-Identifier: Apache-2.0
import Foundation
public import Hummingbird
public import HummingbirdCore
public import Logging
public import NIOCore
import NIOHTTP1
public import ServiceLifecycle
import Synchronization

/// A service that answers HTTP requests, like Hummingbird's `Application`, but without a timer that wakes an idle
/// process every second, and without a task-local logger for each request.
public struct HTTPService<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    /// The error that ends a connection whose input turned out to be malformed while it was answered.
    private struct MalformedInput: Error {}

    private let responder: Responder
    private let server: HTTPServerBuilder
    private let configuration: ServerConfiguration
    private let onListening: @Sendable (any Channel) async -> Void
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger

    /// Creates a service. It listens while ``run()`` runs.
    /// - Parameter onListening: Called with the listener.
    public init(
        responder: Responder, server: HTTPServerBuilder = .http1(), configuration: ServerConfiguration,
        onListening: @escaping @Sendable (any Channel) async -> Void, eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) {
        self.responder = responder
        self.server = server
        self.configuration = configuration
        self.onListening = onListening
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
    }

    /// Serves until the task is cancelled or shut down gracefully.
    public func run() async throws {
        let (responder, logger, date) = (responder, logger, HTTPDate())
        let server = try server.buildServer(
            configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger
        ) { (request, writer: consuming ResponseWriter, channel) in
            let source = ApplicationRequestContextSource(channel: channel, logger: logger)
            var response: Response
            do {
                response = try await responder.respond(to: request, context: Responder.Context(source: source))
            } catch let error as HTTPParserError {
                throw error
            } catch {
                logger.debug("unexpected error of a request", metadata: ["error.type": "\(type(of: error))"])
                response = Response(status: .internalServerError)
            }
            response.headers[.date] = date.text
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch is HTTPParserError {
                // A parser error would cause a second response.
                throw MalformedInput()
            }
        } onServerRunning: {
            await onListening($0)
        }
        try await server.run()
    }
}

/// The present time as the value of a `Date` header, formatted once a second at most.
final class HTTPDate: Sendable {
    private let last = Mutex((second: 0, text: ""))

    var text: String {
        let now = time(nil)
        return last.withLock { last in
            if last.second != now { last = (now, Self.text(of: now)) }
            return last.text
        }
    }

    /// Returns a time in seconds since 1970 in the form of RFC 9110 §5.6.7.
    static func text(of second: Int) -> String {
        var (time, parts) = (second, tm())
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 40) { buffer in
            let count = strftime(buffer.baseAddress, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return String(decoding: UnsafeRawBufferPointer(buffer).prefix(count), as: UTF8.self)
        }
    }
}
