// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A webhook receiver that counts events without parsing them, so that it adds little cost to the measurement. It
/// answers verification challenges.
final class HookReceiver: Sendable {
    /// The answer to events.
    enum Behaviour: Sendable {
        case accept
        case acceptAfter(TimeAmount)
        case neverAnswer
    }

    private struct State {
        var behaviour: Behaviour
        var count = 0
        /// The times of the first deliveries by event id. nil: they are not recorded.
        var arrivals: [String: ContinuousClock.Instant]?
    }

    private let state: Mutex<State>
    private let channel: any Channel

    /// Starts a receiver on a free loopback port.
    /// - Parameter keepsArrivals: True to record the arrivals for ``takeArrivals()``.
    static func start(
        _ behaviour: Behaviour = .accept, keepsArrivals: Bool = false, on group: any EventLoopGroup
    ) async throws -> HookReceiver {
        let box = Box()
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 512)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler { box.receiver.withLock { $0 } })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let receiver = HookReceiver(State(behaviour: behaviour, arrivals: keepsArrivals ? [:] : nil), channel)
        box.receiver.withLock { $0 = receiver }
        return receiver
    }

    private final class Box: Sendable {
        let receiver = Mutex<HookReceiver?>(nil)
    }

    private init(_ state: State, _ channel: any Channel) {
        self.state = Mutex(state)
        self.channel = channel
    }

    var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/" }
    /// The number of received events, including repetitions.
    var count: Int { state.withLock { $0.count } }

    func set(_ behaviour: Behaviour) { state.withLock { $0.behaviour = behaviour } }

    /// Waits until the count of events reaches `goal`.
    /// - Returns: False if the count is lower after `limit`.
    func reaches(_ goal: Int, within limit: Duration) async throws -> Bool {
        let end = ContinuousClock.now + limit
        while count < goal {
            guard .now < end else { return false }
            try await Task.sleep(for: .milliseconds(2))
        }
        return true
    }

    /// Returns the first deliveries since the last call, by event id.
    func takeArrivals() -> [String: ContinuousClock.Instant] {
        state.withLock { state in
            defer { if state.arrivals != nil { state.arrivals = [:] } }
            return state.arrivals ?? [:]
        }
    }

    func stop() async { try? await channel.close() }

    fileprivate func received(_ event: String?) -> Behaviour {
        state.withLock { state in
            state.count += 1
            if let event, state.arrivals?[event] == nil { state.arrivals?[event] = .now }
            return state.behaviour
        }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let challengeMark = "verification_challenge="

    private let receiver: () -> HookReceiver?
    private var head: HTTPRequestHead?

    init(receiver: @escaping () -> HookReceiver?) { self.receiver = receiver }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head, let receiver = receiver() else { return context.close(promise: nil) }
            guard head.method == .POST else { return answer(context, Self.challenge(in: head.uri)) }
            switch receiver.received(head.headers.first(name: "layer-webhook-request-id")) {
            case .accept: answer(context)
            case .neverAnswer: break
            case .acceptAfter(let pause):
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.scheduleTask(in: pause) {
                    let (handler, context) = bound.value
                    handler.answer(context)
                }
            }
        }
    }

    private static func challenge(in uri: String) -> String {
        let query = uri.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return query.split(separator: "&").last { $0.hasPrefix(challengeMark) }
            .map { String($0.dropFirst(challengeMark.count)) } ?? ""
    }

    private func answer(_ context: ChannelHandlerContext, _ body: String = "") {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "\(body.utf8.count)"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
