// SPDX-License-Identifier: Apache-2.0

import Foundation
package import NIOCore
import NIOHTTP1
import NIOPosix
package import ProtocolClient
import Synchronization

/// An HTTP server that receives webhooks, with a behaviour for each path.
package final class WebhookReceiver: Sendable {
    /// The behaviour of a path for events. Challenges are answered correctly unless stated otherwise.
    package enum Behaviour: Sendable {
        case accept
        /// Answers with this status, and optionally with a redirect location.
        case answer(Int, location: String? = nil)
        case slow(Duration)
        case hang
        /// Closes the connection after the request.
        case close
        /// Answers challenges wrongly, and accepts events.
        case wrongChallenge
        /// Accepts, with an endless body.
        case endlessBody
        /// Accepts, with a body that stops after its beginning.
        case unfinishedBody
        /// Answers 500 to events that contain this text, and accepts all others.
        case refuse(String)
    }

    /// A received event, regardless of its answer.
    package struct Event: Sendable {
        package let path: String
        package let headers: [String: String]
        package let body: [UInt8]
        package let json: JSONValue

        package var id: String? { json["event"]["id"].string }
        package var type: String? { json["event"]["type"].string }
    }

    private struct State {
        var behaviours: [String: Behaviour] = [:]
        var events: [Event] = []
        var challenges: [String] = []
    }

    private let state = Mutex(State())
    private let channel: any Channel
    /// Chooses the answer to each event; nil: events are stored and answered by the path's behaviour.
    private let answer: (@Sendable (Event) -> Behaviour)?

    /// Starts a receiver on the loopback interface.
    /// - Parameter setUp: Adds handlers before HTTP, such as TLS.
    package static func start(
        setUp: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws -> WebhookReceiver {
        try await start(host: "127.0.0.1", port: 0, setUp: setUp, answer: nil)
    }

    /// Starts a receiver on an address. It stores no events.
    package static func start(
        host: String, port: Int, answer: @escaping @Sendable (Event) -> Behaviour
    ) async throws -> WebhookReceiver {
        try await start(host: host, port: port, setUp: { _ in }, answer: answer)
    }

    private static func start(
        host: String, port: Int, setUp: @escaping @Sendable (any Channel) throws -> Void,
        answer: (@Sendable (Event) -> Behaviour)?
    ) async throws -> WebhookReceiver {
        let box = Box()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try setUp(channel)
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(receiver: { box.receiver.withLock { $0 } }))
                }
            }
            .bind(host: host, port: port).get()
        let receiver = WebhookReceiver(channel: channel, answer: answer)
        box.receiver.withLock { $0 = receiver }
        return receiver
    }

    private final class Box: Sendable {
        let receiver = Mutex<WebhookReceiver?>(nil)
    }

    private init(channel: any Channel, answer: (@Sendable (Event) -> Behaviour)?) {
        self.channel = channel
        self.answer = answer
    }

    package var port: Int { channel.localAddress?.port ?? 0 }

    package func url(_ path: String, scheme: String = "http", host: String = "127.0.0.1") -> String {
        "\(scheme)://\(host):\(port)\(path)"
    }

    package func set(_ behaviour: Behaviour, for path: String) { state.withLock { $0.behaviours[path] = behaviour } }

    /// Returns the events of a path, in the order of arrival.
    package func events(at path: String) -> [Event] { state.withLock { $0.events.filter { $0.path == path } } }

    /// Returns the number of challenges that a path received.
    package func challenges(at path: String) -> Int {
        state.withLock { state in state.challenges.count { $0 == path } }
    }

    /// Waits until the events of a path are sufficient.
    /// - Parameter isRepeated: True if repetitions of an event count.
    /// - Throws: An error with the received events if they are not sufficient within `limit`.
    package func events(
        at path: String, repeated isRepeated: Bool = true, within limit: Duration = Waiting.limit,
        until isEnough: ([Event]) -> Bool
    ) async throws -> [Event] {
        let deadline = ContinuousClock.now + limit
        while true {
            var ids: Set<String> = []
            let events = events(at: path).filter { isRepeated || $0.id.map { ids.insert($0).inserted } ?? true }
            if isEnough(events) { return events }
            guard .now < deadline else {
                throw UnexpectedAnswer(
                    "\(path) did not get what it waits for, but \(events.map { ($0.type ?? "-", $0.id ?? "-") })",
                    #fileID, #line)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    package func stop() async { try? await channel.close() }

    fileprivate func received(_ event: Event) -> Behaviour {
        if let answer { return answer(event) }
        return state.withLock { state in
            state.events.append(event)
            return state.behaviours[event.path] ?? .accept
        }
    }

    fileprivate func challenged(at path: String) -> Behaviour {
        state.withLock { state in
            state.challenges.append(path)
            return state.behaviours[path] ?? .accept
        }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let receiver: () -> WebhookReceiver?
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(receiver: @escaping () -> WebhookReceiver?) { self.receiver = receiver }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, [])
        case .body(let bytes): body += bytes.readableBytesView
        case .end:
            guard let head, let receiver = receiver() else { return context.close(promise: nil) }
            let sides = head.uri.split(separator: "?", maxSplits: 1)
            let path = String(sides[0])
            if head.method == .GET {
                let challenge =
                    sides.count > 1
                    ? sides[1].split(separator: "&").last { $0.hasPrefix("verification_challenge=") } : nil
                let text = String(challenge?.dropFirst("verification_challenge=".count) ?? "")
                act(receiver.challenged(at: path), context, challenge: text)
            } else {
                let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
                let json = (try? JSONValue(parsing: body)) ?? .null
                let behaviour = receiver.received(.init(path: path, headers: headers, body: body, json: json))
                if case .refuse(let text) = behaviour {
                    answer(context, String(decoding: body, as: UTF8.self).contains(text) ? 500 : 200)
                } else {
                    act(behaviour, context, challenge: nil)
                }
            }
        }
    }

    private func act(_ behaviour: WebhookReceiver.Behaviour, _ context: ChannelHandlerContext, challenge: String?) {
        switch behaviour {
        case .accept, .refuse: answer(context, 200, body: challenge ?? "")
        case .answer(let status, let location):
            // Paths that fail for events still answer challenges correctly.
            if let challenge, !(300..<400).contains(status) { return answer(context, 200, body: challenge) }
            answer(context, status, location: location)
        case .slow(let pause):
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            let nanoseconds = pause.components.seconds * 1_000_000_000 + pause.components.attoseconds / 1_000_000_000
            context.eventLoop.scheduleTask(in: .nanoseconds(nanoseconds)) {
                let (handler, context) = bound.value
                handler.answer(context, 200, body: challenge ?? "")
            }
        case .hang: if let challenge { answer(context, 200, body: challenge) }
        case .close: if let challenge { answer(context, 200, body: challenge) } else { context.close(promise: nil) }
        case .wrongChallenge: answer(context, 200, body: challenge.map { "not \($0)" } ?? "")
        case .endlessBody:
            if let challenge { return answer(context, 200, body: challenge) }
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["transfer-encoding": "chunked"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            for _ in 0..<64 {
                context.write(
                    wrapOutboundOut(.body(.byteBuffer(ByteBuffer(repeating: 0x20, count: 4096)))), promise: nil)
            }
            context.flush()
        case .unfinishedBody:
            if let challenge { return answer(context, 200, body: challenge) }
            let head = HTTPResponseHead(version: .http1_1, status: .accepted, headers: ["content-length": "9"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "{")))), promise: nil)
        }
    }

    private func answer(_ context: ChannelHandlerContext, _ status: Int, body: String = "", location: String? = nil) {
        var headers: HTTPHeaders = ["content-length": "\(body.utf8.count)"]
        if let location { headers.add(name: "location", value: location) }
        let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
