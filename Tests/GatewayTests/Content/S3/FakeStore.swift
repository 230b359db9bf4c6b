// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

@testable import Gateway

/// A small S3 server on the loopback interface that can fail. It does not check signatures.
final class FakeStore: Sendable {
    enum Operation: Sendable, CaseIterable {
        case check, list, put, head, get, delete, create, part, complete, abort
    }

    enum Fault: Sendable {
        case answer(Int, code: String = "")
        /// Never answers.
        case hang
        /// Closes the connection with the first bytes of the request's body.
        case cut
        /// Performs the request and closes the connection without an answer.
        case lose
        /// Answers half of the body, and closes the connection.
        case half
        /// Answers with an entity tag that the store does not know.
        case wrongTag
        /// Answers without an entity tag.
        case noTag
        /// Answers a range with other bytes.
        case otherBytes
        /// Answers 200, with an error as the body.
        case hiddenError(String)
    }

    struct Upload: Sendable {
        let key: String
        let startedAt: Date
        let headers: HTTPHeaders
        var parts: [Int: ByteBuffer] = [:]
    }

    struct Object: Sendable {
        let body: ByteBuffer
        let headers: HTTPHeaders
    }

    struct State {
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var created = 0
        var faults: [Operation: [Fault]] = [:]
        var counts: [Operation: Int] = [:]
    }

    struct Answer: Sendable {
        var status = 200
        var headers: HTTPHeaders = [:]
        var body = ByteBuffer()
        /// The number of bytes of the body before the connection is closed; nil: all.
        var end: Int?

        static func error(_ status: Int, _ code: String) -> Answer {
            Answer(status: status, body: ByteBuffer(string: "<Error><Code>\(code)</Code></Error>"))
        }
    }

    /// The number of uploads on one page of a list.
    static let pageSize = 2

    let state = Mutex(State())
    private let channel = Mutex<(any Channel)?>(nil)

    /// Starts a server with an empty bucket `bucket`.
    static func start() async throws -> FakeStore {
        let store = FakeStore()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(FakeStoreHandler(store))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        store.channel.withLock { $0 = channel }
        return store
    }

    func stop() async { try? await channel.withLock { $0 }?.close() }

    /// The value of `STRATA_CONTENT_URL`.
    var url: String { "s3+http://127.0.0.1:\(channel.withLock { $0?.localAddress?.port } ?? 0)/bucket/a" }

    /// Lets the next requests of an operation fail, in order.
    func fail(_ operation: Operation, _ faults: Fault...) { state.withLock { $0.faults[operation] = faults } }

    /// Lets all requests of an operation fail.
    func failAlways(_ operation: Operation, _ fault: Fault) {
        state.withLock { $0.faults[operation] = Array(repeating: fault, count: 10_000) }
    }

    func count(of operation: Operation) -> Int { state.withLock { $0.counts[operation] ?? 0 } }

    /// Counts a request, and returns its fault.
    func begin(_ operation: Operation) -> Fault? {
        state.withLock { state in
            state.counts[operation, default: 0] += 1
            guard state.faults[operation]?.isEmpty == false else { return nil }
            return state.faults[operation]?.removeFirst()
        }
    }
}

private final class FakeStoreHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let store: FakeStore
    private var request: FakeRequest?
    private var fault: FakeStore.Fault?

    init(_ store: FakeStore) { self.store = store }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            let new = FakeRequest(head)
            (request, fault) = (new, store.begin(new.operation))
        case .body(let bytes):
            if case .cut? = fault { return context.close(promise: nil) }
            request?.body.writeImmutableBuffer(bytes)
        case .end:
            guard let request else { return }
            switch fault {
            case .hang: return
            case .lose:
                _ = store.answer(request)
                return context.close(promise: nil)
            case .answer(let status, let code): write(.error(status, code), to: request, context)
            case .hiddenError(let code): write(.error(200, code), to: request, context)
            case .cut: context.close(promise: nil)
            case .half, .wrongTag, .noTag, .otherBytes, nil:
                var answer = store.answer(request)
                if case .half? = fault { answer.end = answer.body.readableBytes / 2 }
                if case .wrongTag? = fault { answer.headers.replaceOrAdd(name: "etag", value: "\"another\"") }
                if case .noTag? = fault { answer.headers.remove(name: "etag") }
                if case .otherBytes? = fault {
                    answer.headers.replaceOrAdd(name: "content-range", value: "bytes 7-9/99")
                }
                write(answer, to: request, context)
            }
        }
    }

    private func write(_ answer: FakeStore.Answer, to request: FakeRequest, _ context: ChannelHandlerContext) {
        var headers = answer.headers
        if !headers.contains(name: "content-length") {
            headers.add(name: "content-length", value: "\(answer.body.readableBytes)")
        }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        let isShort = request.head.method == .HEAD
        let length = isShort ? 0 : answer.end ?? answer.body.readableBytes
        if let body = answer.body.getSlice(at: answer.body.readerIndex, length: length), length > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        if answer.end != nil {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))))
                .whenComplete { _ in bound.value.close(promise: nil) }
        } else {
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// A request to ``FakeStore``.
struct FakeRequest {
    let head: HTTPRequestHead
    /// The key of the object; empty for the bucket.
    let key: String
    let query: [String: String]
    var body = ByteBuffer()

    init(_ head: HTTPRequestHead) {
        self.head = head
        let parts = URLComponents(string: head.uri)
        key = String((parts?.path ?? "").dropFirst("/bucket/".count))
        query = Dictionary((parts?.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { $1 }
    }

    var operation: FakeStore.Operation {
        switch head.method {
        case .HEAD: .head
        case .GET where key.isEmpty: query["uploads"] == nil ? .check : .list
        case .GET: .get
        case .POST: query["uploads"] == nil ? .complete : .create
        case .DELETE: query["uploadId"] == nil ? .delete : .abort
        default: query["uploadId"] == nil ? .put : .part
        }
    }
}
