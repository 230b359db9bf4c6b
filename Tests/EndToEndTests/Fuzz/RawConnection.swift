// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix

@testable import StrataCommand

/// A TCP connection that sends arbitrary bytes, as no client library would. It parses just enough HTTP and WebSocket to
/// recognize answers.
final class RawConnection: Sendable {
    struct Inbox: Sendable {
        var bytes: [UInt8] = []
        var isClosed = false
    }

    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
        /// The header lines as received, without line ends.
        var headers: [String] = []
    }

    struct Frame: Sendable {
        let opcode: UInt8
        let payload: [UInt8]
    }

    /// The result of a read: a value, or the reason why there is none.
    enum Outcome<Value: Sendable>: Sendable {
        case value(Value)
        case closed
        case silence
        /// Data that is neither HTTP nor a frame.
        case garbage(String)
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let inbox: ObservedState<Inbox>
        init(_ inbox: ObservedState<Inbox>) { self.inbox = inbox }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Array(buffer: unwrapInboundIn(data))
            inbox.change { $0.bytes += bytes }
        }
        func channelInactive(context: ChannelHandlerContext) { inbox.change { $0.isClosed = true } }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let channel: any Channel
    private let inbox: ObservedState<Inbox>

    private init(channel: any Channel, inbox: ObservedState<Inbox>) {
        self.channel = channel
        self.inbox = inbox
    }

    static func open(port: Int) async throws -> RawConnection {
        let inbox = ObservedState(Inbox())
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: false)
            .channelInitializer { $0.pipeline.addHandler(Collector(inbox)) }
            .connect(host: "127.0.0.1", port: port).get()
        return RawConnection(channel: channel, inbox: inbox)
    }

    var isClosed: Bool { inbox.change { $0.isClosed } }

    /// Sends bytes and ignores errors. The next read shows whether the peer has closed.
    func send(_ bytes: [UInt8]) async { try? await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }

    /// Closes the output only, and continues to read.
    func halfClose() async { try? await channel.close(mode: .output).get() }

    /// - Parameter reset: True to send a TCP reset instead of an orderly close.
    func close(reset: Bool = false) async {
        if reset, let options = channel as? any SocketOptionProvider {
            try? await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try? await channel.close().get()
    }

    // MARK: Reading

    /// Consumes and returns the next HTTP answer.
    /// - Parameter isBodiless: True for the answer to HEAD.
    func answer(isBodiless: Bool = false, within limit: Duration) async -> Outcome<Answer> {
        await next(within: limit) { Self.parseAnswer(&$0, isBodiless: isBodiless) }
    }

    /// Returns true if the next bytes equal `text`. Consumes nothing.
    func begins(with text: String, within limit: Duration) async -> Bool {
        let wanted = Array(text.utf8)
        let found = await inbox.first(within: limit) { inbox -> Bool? in
            inbox.bytes.count >= wanted.count || inbox.isClosed ? inbox.bytes.starts(with: wanted) : nil
        }
        return found == true
    }

    /// Waits until the unread bytes contain `text`, and returns them. Consumes nothing.
    /// - Returns: nil if the connection closes or the time passes before.
    func received(containing text: String, within limit: Duration) async -> String? {
        let found = await inbox.first(within: limit) { inbox -> String?? in
            let received = String(decoding: inbox.bytes, as: UTF8.self)
            return received.contains(text) ? received : inbox.isClosed ? .some(nil) : nil
        }
        return found ?? nil
    }

    func frame(within limit: Duration) async -> Outcome<Frame> { await next(within: limit) { Self.parseFrame(&$0) } }

    private func next<Value: Sendable>(
        within limit: Duration, _ parse: @escaping @Sendable (inout [UInt8]) -> Outcome<Value>?
    ) async -> Outcome<Value> {
        let found = await inbox.first(within: limit) { inbox -> Outcome<Value>? in
            parse(&inbox.bytes) ?? (inbox.isClosed ? .closed : nil)
        }
        return found ?? .silence
    }

    /// - Returns: nil if the answer is incomplete.
    private static func parseAnswer(_ bytes: inout [UInt8], isBodiless: Bool) -> Outcome<Answer>? {
        guard let end = find("\r\n\r\n", in: bytes, from: 0) else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self)
            .split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), (100..<600).contains(status)
        else {
            return .garbage(String(decoding: bytes.prefix(80), as: UTF8.self))
        }
        var start = end + 4
        if (100..<200).contains(status), status != 101 {
            bytes.removeFirst(start)
            return parseAnswer(&bytes, isBodiless: isBodiless)
        }
        let headers = lines.dropFirst().map { $0.lowercased() }
        var body: [UInt8] = []
        if isBodiless || status == 204 || status == 304 || status == 101 {
        } else if let length = headers.first(where: { $0.hasPrefix("content-length:") })
            .flatMap({ Int($0.dropFirst(15).filter { $0 != " " }) })
        {
            guard bytes.count >= start + length else { return nil }
            body = Array(bytes[start..<(start + length)])
            start += length
        } else if headers.contains(where: { $0.hasPrefix("transfer-encoding:") && $0.contains("chunked") }) {
            guard let last = find("\r\n0\r\n\r\n", in: bytes, from: start - 2) else { return nil }
            body = Array(bytes[start..<max(start, last)])
            start = last + 7
        }
        bytes.removeFirst(start)
        return .value(Answer(status: status, body: body, headers: lines.dropFirst().map { String($0) }))
    }

    private static func parseFrame(_ bytes: inout [UInt8]) -> Outcome<Frame>? {
        guard bytes.count >= 2 else { return nil }
        guard bytes[0] & 0x70 == 0, bytes[1] & 0x80 == 0 else {
            return .garbage("a frame that begins with \(bytes.prefix(2))")
        }
        var (length, start) = (Int(bytes[1]), 2)
        let wide = length == 126 ? 2 : length == 127 ? 8 : 0
        if wide > 0 {
            guard bytes.count >= 2 + wide else { return nil }
            length = bytes[2..<(2 + wide)].reduce(0) { $0 << 8 | Int($1) }
            start += wide
        }
        guard bytes.count >= start + length else { return nil }
        let frame = Frame(opcode: bytes[0] & 0x0F, payload: Array(bytes[start..<(start + length)]))
        bytes.removeFirst(start + length)
        return .value(frame)
    }

    private static func find(_ text: StaticString, in bytes: [UInt8], from start: Int) -> Int? {
        let count = text.utf8CodeUnitCount
        guard bytes.count >= start + count else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            for index in start...(bytes.count - count) where bytes[index] == text.utf8Start[0] {
                if (1..<count).allSatisfy({ bytes[index + $0] == text.utf8Start[$0] }) { return index }
            }
            return nil
        }
    }
}
