// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore

final class SubscriberLink: ConnectionKeeperDelegate {
    let index: SubscriptionStateMachine.Link
    private let keeper: ConnectionKeeper<SubscriberLink>
    private weak var core: SubscriberCore?
    private var outgoing = ByteBuffer()

    init(
        index: SubscriptionStateMachine.Link, endpoints: [RedisEndpoint], configuration: RedisConfiguration,
        eventLoop: any EventLoop,
        logger: Logger, core: SubscriberCore
    ) {
        self.index = index
        self.core = core
        keeper = ConnectionKeeper(
            endpoints: endpoints, configuration: configuration, eventLoop: eventLoop, logger: logger)
    }

    func connect() { keeper.demand(by: self) }

    func close() { keeper.close() }

    /// Closes the connection, so that the keeper establishes a new one.
    func drop() { keeper.connection?.close() }

    func send(_ command: OutstandingCommands.Command) {
        switch command {
        case .subscribe(let channels):
            CommandEncoder.encode(["SSUBSCRIBE"] + channels.map { .string($0) }, into: &outgoing)
        case .unsubscribe(let channels):
            CommandEncoder.encode(["SUNSUBSCRIBE"] + channels.map { .string($0) }, into: &outgoing)
            CommandEncoder.encode(["PING"], into: &outgoing)
        case .ping: CommandEncoder.encode(["PING"], into: &outgoing)
        }
    }

    func flush() {
        guard outgoing.readableBytes > 0 else { return }
        let buffer = outgoing
        outgoing = ByteBuffer()
        keeper.connection?.write(buffer)
    }

    // MARK: ConnectionRole

    var isAwaitingReply: Bool { core?.isAwaitingReply(on: index) ?? false }

    func encodePing(into buffer: inout ByteBuffer) {
        CommandEncoder.encode(["PING"], into: &buffer)
        core?.pingSent(on: index)
    }

    func replyReceived(_ reply: inout ReplyBuilder) throws(RedisError) {
        guard let push = reply.takePush() else {
            throw RedisError(.protocolViolation, "unexpected on a subscribing connection")
        }
        core?.pushReceived(push, on: index)
    }

    func receivedAll() { core?.turnEnded() }

    // MARK: ConnectionKeeperDelegate

    func connectionReady() { core?.linkOpened(index) }

    func connectionLost(_ error: RedisError) {
        outgoing.clear()
        core?.linkLost(index, with: error, wasConnected: true)
    }

    func attemptFailed(_ error: RedisError) { core?.linkLost(index, with: error, wasConnected: false) }
}

/// A message from the server on a subscribing connection.
enum PushMessage {
    case message(ByteBuffer, channel: ByteBuffer)
    case subscribed(String)
    case unsubscribed(String)
    case pong
    case error(RedisServerError)
}

extension ReplyBuilder {
    /// Parses a complete reply without creating unnecessary values, and resets the builder. Returns nil for an unknown
    /// message.
    mutating func takePush() -> PushMessage? {
        defer { reset() }
        switch elements.first {
        case .simple(let range): return bytesEqual(in: range, text: "PONG") ? .pong : nil
        case .error(let range): return .error(RedisServerError(text: text(range)))
        case .array(count: 2):
            guard elements.count == 3, case .bulk(let kind) = elements[1], bytesEqual(in: kind, text: "pong") else {
                return nil
            }
            return .pong
        case .array(count: 3):
            guard elements.count == 4, case .bulk(let kind) = elements[1], case .bulk(let channel) = elements[2] else {
                return nil
            }
            return push(kind: kind, channel: channel, last: elements[3])
        case nil, .null, .integer, .bulk, .array: return nil
        }
    }

    private func push(kind: Range<Int>, channel: Range<Int>, last: Element) -> PushMessage? {
        if bytesEqual(in: kind, text: "smessage"), case .bulk(let payload) = last {
            return .message(slice(payload), channel: slice(channel))
        }
        if bytesEqual(in: kind, text: "ssubscribe") { return .subscribed(text(channel)) }
        if bytesEqual(in: kind, text: "sunsubscribe") { return .unsubscribed(text(channel)) }
        return nil
    }
}
