// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Logging
import NIOCore
import NIOEmbedded
import NetKit
import StrataModel
import SwiftProtobuf

@testable import RPC

/// Calls of one method that a server receives over an embedded channel.
///
/// Everything runs on the thread that makes the calls, because the method is a short one.
enum CountedCalls {
    private static let secret = String(repeating: "x", count: 32)

    /// Counts the allocations of one call that sends a message, from its request's bytes to those of the answer.
    static func answering() throws -> Double {
        let channel = EmbeddedChannel()
        let core = core()
        try channel.pipeline.syncOperations.addHandler(
            RPCServerHandler(core: core, connection: RPCServerConnection(channel: channel)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try open(channel)
        let network = CountingNetwork()
        try channel.pipeline.syncOperations.addHandler(network.handler(), position: .first)
        let request = try request()
        let mean = try AllocationCount.mean { _ in
            try channel.writeInbound(request)
            channel.embeddedEventLoop.run()
        }
        guard network.writes == 2 * AllocationCount.runs, core.held.inUse == 0 else {
            throw CountedOperation.NoEffect(operation: .answerCall)
        }
        _ = try channel.finish()
        return mean
    }

    /// Creates a server with a method that answers as the conversations service does, without a database.
    private static func core() -> RPCServerCore {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var router = CallRouter(logger: logger)
        router.register(ConversationsAPI.sendMessage) { request, _ in
            var message = Fixture.textMessage(1, to: [Fixture.ana, Fixture.ben])
            message.id = try MessageID(contract: request.id)
            message.conversationID = try ConversationID(contract: request.conversationID)
            message.parts = try request.parts.map { try MessagePart($0) }
            return .with {
                $0.message = ProtoMessage(message)
                $0.place = ProtoChangePlace(LogPosition(position: message.position))
            }
        }
        return RPCServerCore(
            configuration: RPCServerConfiguration(port: 0, clusterSecret: secret), logger: logger,
            isShort: { $0 == ConversationsAPI.sendMessage.method },
            handler: { [router] context, payload in try await router.handleCall(context, payload: payload) })
    }

    /// Opens the connection as a client does.
    private static func open(_ channel: EmbeddedChannel) throws {
        var handshake = RPCClientHandshake(secret: RPCSecret(secret), nonce: .random())
        guard case .send(let hello) = handshake.frameReceived(try frame(from: channel)) else {
            throw CountedOperation.NoEffect(operation: .answerCall)
        }
        var bytes = ByteBuffer()
        bytes.writeFrame(hello)
        try channel.writeInbound(bytes)
        guard handshake.frameReceived(try frame(from: channel)) == .established else {
            throw CountedOperation.NoEffect(operation: .answerCall)
        }
    }

    private static func frame(from channel: EmbeddedChannel) throws -> RPCFrame {
        var reader = RPCFrameReader()
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { reader.append(bytes) }
        guard let frame = try reader.next(limit: 1 << 10) else {
            throw CountedOperation.NoEffect(operation: .answerCall)
        }
        return frame
    }

    private static func request() throws -> ByteBuffer {
        let message = Fixture.textMessage(1, to: [])
        let payload = try ByteBuffer(
            protobuf: ProtoSendMessageRequest.with {
                $0.appID = Data(Fixture.app)
                $0.actor = Fixture.ana.rawValue
                $0.conversationID = Data(message.conversationID)
                $0.id = Data(message.id)
                $0.parts = message.parts.map { ProtoMessagePart($0) }
                $0.origin = ProtoOrigin(Change.Origin(connection: 1 << 60, request: 1))
            })
        let head = RPCRequestHead(
            method: ConversationsAPI.sendMessage.method, remainingMicroseconds: 600_000_000,
            trace: TraceID(high: 1, low: 1))
        var bytes = ByteBuffer()
        bytes.writeFrame(.request(id: 1, head, payload: payload))
        return bytes
    }
}
