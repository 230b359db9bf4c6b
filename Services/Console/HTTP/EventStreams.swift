// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import StrataModel
import Synchronization

/// A server-sent event, or a comment.
struct ServerEvent: Sendable {
    /// The bytes of the event on the wire.
    let bytes: ByteBuffer

    /// - Parameter json: the data, without line breaks.
    init(_ type: StaticString, json: ByteBuffer) {
        var bytes = ByteBuffer()
        bytes.writeString("event: \(type)\ndata: ")
        bytes.writeImmutableBuffer(json)
        bytes.writeString("\n\n")
        self.bytes = bytes
    }

    init(_ type: StaticString, _ data: some Encodable) { self.init(type, json: ConsoleJSON.encode(data)) }

    private init(bytes: ByteBuffer) { self.bytes = bytes }

    /// A comment, which keeps the connection open, and detects that the browser has gone.
    static let ping = ServerEvent(bytes: ByteBuffer(string: ": ping\n\n"))
}

/// The events that wait for one browser, bounded in bytes.
final class EventQueue: Sendable {
    /// The maximum backlog, in bytes. A single event of any size is admitted.
    static let limit = 4 << 20

    private let events: AsyncStream<ServerEvent>
    private let source: AsyncStream<ServerEvent>.Continuation
    private let backlog = Atomic(0)

    init() { (events, source) = AsyncStream.makeStream() }

    /// Adds an event.
    /// - Returns: false if it was dropped, because the browser does not keep up.
    @discardableResult
    func send(_ event: ServerEvent) -> Bool {
        let size = event.bytes.readableBytes
        let before = backlog.wrappingAdd(size, ordering: .relaxed).oldValue
        guard before == 0 || before + size <= Self.limit else {
            backlog.wrappingSubtract(size, ordering: .relaxed)
            return false
        }
        source.yield(event)
        return true
    }

    /// Ends the stream after the events that wait.
    func finish() { source.finish() }

    /// Writes each event, until the end. Hummingbird's writers are used from the concurrency pool only.
    @concurrent
    fileprivate func drain(to writer: inout any ResponseBodyWriter) async throws {
        for await event in events {
            backlog.wrappingSubtract(event.bytes.readableBytes, ordering: .relaxed)
            try await writer.write(event.bytes)
        }
    }
}

/// The open streams of events. A stream ends with its session.
final class EventStreams: Sendable {
    /// The maximum number of open streams.
    static let limit = 64
    /// The interval of comments, and of checks of the session.
    static let interval = Duration.seconds(15)

    private let accounts: Accounts
    private let open = Atomic(0)

    init(accounts: Accounts) { self.accounts = accounts }

    /// Returns an answer that streams the events of a queue.
    /// - Parameter produce: runs beside the stream and sends events; it is cancelled when the browser has gone. The
    ///   stream ends when it returns.
    /// - Throws: `service_unavailable` if too many streams are open.
    func response(
        for session: OperatorSession, produce: @escaping @Sendable (EventQueue) async -> Void
    ) throws(Failure) -> Response {
        guard open.load(ordering: .relaxed) < Self.limit else {
            throw Failure(.serviceUnavailable, "Too many live pages are open. Please close one, and try again.")
        }
        let body = ResponseBody { [self] writer in
            open.wrappingAdd(1, ordering: .relaxed)
            defer { open.wrappingSubtract(1, ordering: .relaxed) }
            let queue = EventQueue()
            let source = Task {
                await withTaskGroup(of: Void.self) { group in
                    for work in [produce, self.keepAlive(session)] { group.addTask { await work(queue) } }
                    _ = await group.next()
                    group.cancelAll()
                }
                queue.finish()
            }
            defer { source.cancel() }
            try await queue.drain(to: &writer)
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream; charset=utf-8", .xAccelBuffering: "no"], body: body
        )
    }

    /// Returns the work that sends comments until the session has ended, or the process stops.
    private func keepAlive(_ session: OperatorSession) -> @Sendable (EventQueue) async -> Void {
        { queue in
            await cancelWhenGracefulShutdown {
                repeat {
                    if await self.hasEnded(session) { return }
                    queue.send(.ping)
                } while (try? await Task.sleep(for: Self.interval)) != nil
            }
        }
    }

    /// Returns false while the database is away.
    private func hasEnded(_ session: OperatorSession) async -> Bool {
        do {
            return try await accounts.session(with: session.digest, isUsed: false) == nil
        } catch {
            return false
        }
    }
}

extension HTTPField.Name {
    /// Asks proxies such as nginx to pass the stream on as it comes.
    fileprivate static let xAccelBuffering = Self("X-Accel-Buffering")!
}
