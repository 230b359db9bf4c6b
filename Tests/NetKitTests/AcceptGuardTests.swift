// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import Testing

@testable import NetKit

@Suite("accepting connections without descriptors", .timeLimit(.minutes(3)))
struct AcceptGuardTests {
    /// Counts the read requests that reach the socket.
    private final class Socket: ChannelOutboundHandler {
        typealias OutboundIn = any Channel
        private(set) var reads = 0
        func read(context: ChannelHandlerContext) { reads += 1 }
    }

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private struct Recorder: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) {
            lines.all.withLock { $0.append("\(event.message) \(event.metadata?["error.message"] ?? "")") }
        }
    }

    @Test("a failure pauses accepting; the log reports it once, until a connection is accepted")
    func pauses() throws {
        let lines = Lines()
        let channel = EmbeddedChannel()
        var failures = 0
        try AcceptGuard.add("test", to: channel, logger: Logger(label: "test") { _ in Recorder(lines: lines) }) {
            failures += 1
        }
        let socket = Socket()
        try channel.pipeline.syncOperations.addHandler(socket, position: .first)
        channel.read()
        #expect(socket.reads == 1)
        for _ in 0..<3 {
            channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
            channel.read()
        }
        #expect(socket.reads == 1)
        #expect(failures == 3)
        // The embedded loop's clock does not advance. The pause uses the real clock.
        channel.embeddedEventLoop.advanceTime(to: .now() + .seconds(1))
        #expect(socket.reads == 2)
        try channel.throwIfErrorCaught()
        #expect(
            lines.all.withLock { $0 } == ["connections cannot be accepted open files of this process (RLIMIT_NOFILE)"])
        let accepted: any Channel = EmbeddedChannel()
        channel.pipeline.fireChannelRead(accepted)
        #expect(lines.all.withLock { $0.count } == 2)
        channel.pipeline.fireErrorCaught(IOError(errnoCode: ENFILE, reason: "accept"))
        #expect(
            lines.all.withLock { $0.last } == "connections cannot be accepted open files of the system (fs.file-max)")
    }

    @Test("a connection that gets one of the last descriptors is closed")
    func reserve() async throws {
        let lines = Lines()
        let limit = try #require(OpenFileLimit.current).soft
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // The reserve covers the whole limit, so that every descriptor counts as part of it.
                    let logger = Logger(label: "test") { _ in Recorder(lines: lines) }
                    try AcceptGuard.add("test", reserve: Int(limit), to: channel, logger: logger) {}
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let client = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(to: try #require(server.localAddress)).get()
        try await client.closeFuture.get()
        try await server.close()
        #expect(
            lines.all.withLock { $0 } == ["connections cannot be accepted open files of this process (RLIMIT_NOFILE)"])
    }

    @Test("errors of single connections are passed on")
    func others() throws {
        let channel = EmbeddedChannel()
        try AcceptGuard.add("test", to: channel, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {}
        channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNABORTED, reason: "accept"))
        #expect(throws: IOError.self) { try channel.throwIfErrorCaught() }
    }
}
