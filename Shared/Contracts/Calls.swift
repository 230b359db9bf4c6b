// SPDX-License-Identifier: Apache-2.0
public import Logging
public import NIOCore
public import RPC
public import StrataModel
public import SwiftProtobuf

/// A counter of services' responses, for a caller that limits the memory it uses.
public protocol CallAnswers: AnyObject, Sendable {
    /// Reports a response of `count` bytes before it is decoded.
    /// - Throws: the error for the caller instead of the response.
    func answerReceived(byteCount count: Int) throws(Failure)
}

/// The circumstances of calls to services: who waits how long, and for what.
public protocol CallContext: Sendable {
    /// The time at which the caller stops waiting.
    var deadline: ContinuousClock.Instant { get }
    /// The trace of the request that the calls belong to.
    var trace: TraceID { get }
    /// The idempotency key of the change; nil: none. Other calls ignore it.
    var idempotencyKey: IdempotencyKey? { get }
    /// The counter of the responses; nil: none.
    var answers: (any CallAnswers)? { get }
}

/// The context of a single call.
public struct SingleCall: CallContext {
    /// The time at which the caller stops waiting.
    public let deadline: ContinuousClock.Instant
    /// The trace of the request that the call belongs to, or a new one.
    public let trace: TraceID
    /// The idempotency key of the change; nil: none.
    public let idempotencyKey: IdempotencyKey?
    /// The counter of the response; nil: none.
    public let answers: (any CallAnswers)?
}

extension CallContext where Self == SingleCall {
    /// Creates a context with a deadline.
    /// - Parameter trace: a new trace by default.
    public static func until(
        _ deadline: ContinuousClock.Instant, trace: TraceID = .random(), as idempotencyKey: IdempotencyKey? = nil,
        answers: (any CallAnswers)? = nil
    ) -> Self {
        SingleCall(deadline: deadline, trace: trace, idempotencyKey: idempotencyKey, answers: answers)
    }

    /// Creates a context whose deadline is `budget` from now.
    /// - Parameter trace: a new trace by default.
    public static func within(
        _ budget: Duration, trace: TraceID = .random(), as idempotencyKey: IdempotencyKey? = nil,
        answers: (any CallAnswers)? = nil
    ) -> Self {
        .until(.now + budget, trace: trace, as: idempotencyKey, answers: answers)
    }
}

extension RPCClient {
    /// Calls `endpoint` and decodes its response. With an idempotency key, a change is carried out once, so that the
    /// call may be repeated regardless of the endpoint's effect.
    /// - Throws: ``StrataModel/Failure`` from the service; `service_unavailable` if no instance could be reached in
    ///   time, or if the outcome of a call that must not be repeated is unknown; any error of the context's `answers`.
    public func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, with request: Request, for context: some CallContext
    ) async throws(Failure) -> Response {
        var (request, effect) = (request, endpoint.effect)
        if let key = context.idempotencyKey, let setKey = endpoint.setKey {
            setKey(&request, key)
            effect = .repeatable
        }
        let payload: ByteBuffer
        do {
            payload = try ByteBuffer(protobuf: request)
        } catch {
            throw Failure(.internalServerError, "The request could not be encoded.")
        }
        let answer: ByteBuffer
        do {
            answer = try await call(
                endpoint.method, with: payload, deadline: context.deadline, trace: context.trace,
                isIdempotent: effect != .notRepeatable)
        } catch {
            let failure = Failure(rpcError: error)
            // A caller that receives "access denied" must be able to rely on the call having had no effect.
            guard error.isAfterLoss, effect == .repeatable, !failure.indicatesCompletion else { throw failure }
            throw Failure(rpcError: .transportLost)
        }
        try context.answers?.answerReceived(byteCount: answer.readableBytes)
        guard let response = try? Response(protobuf: answer) else {
            throw Failure(.internalServerError, "The answer of a service could not be decoded.")
        }
        return response
    }
}

extension Failure {
    /// True if a service responds with this failure to a repeated call that it has already carried out.
    fileprivate var indicatesCompletion: Bool { code == .idInUse || code == .conflict }
}

/// The handlers of the calls of one feature.
public protocol CallHandler: Sendable {
    func register(on router: inout CallRouter)
}

extension RPCServer {
    /// Creates a server that answers the calls of these handlers.
    /// - Parameter logger: receives errors that are not refusals.
    public convenience init(
        _ handlers: [any CallHandler], configuration: RPCServerConfiguration, eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) {
        self.init(
            DatabaseRouter(CallRouter(handlers, logger: logger)), configuration: configuration,
            eventLoopGroup: eventLoopGroup, logger: logger)
    }

    /// Creates a server that answers the calls of several databases.
    public convenience init(
        _ router: DatabaseRouter, configuration: RPCServerConfiguration, eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) {
        self.init(
            configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger,
            isShort: { RPCMethod.short.contains($0) },
            handler: { context, payload in try await router.handleCall(context, payload: payload) })
    }
}

/// A router of calls to handlers by method number. Its ``handleCall(_:payload:)`` is the handler of an `RPCServer`.
public struct CallRouter: Sendable {
    private struct Handler: Sendable {
        let answer: @Sendable (RPCContext, ByteBuffer) async throws -> ByteBuffer
        let scope: @Sendable (ByteBuffer) throws -> CallScope
    }

    private var handlers: [RPCMethod: Handler] = [:]
    private let logger: Logger

    /// Creates a router without handlers.
    /// - Parameter logger: receives errors that are not refusals.
    public init(logger: Logger) { self.logger = logger }

    /// Creates a router of the calls of these handlers.
    /// - Parameter logger: receives errors that are not refusals.
    public init(_ handlers: [any CallHandler], logger: Logger) {
        self.init(logger: logger)
        for handler in handlers { handler.register(on: &self) }
    }

    /// Registers `body` as the handler of `endpoint`. A ``StrataModel/Failure`` that it throws is sent to the caller.
    /// Any other error is logged with the call's trace and becomes `internal_server_error`.
    public mutating func register<Request, Response>(
        _ endpoint: Endpoint<Request, Response>,
        body: @escaping @Sendable (Request, RPCContext) async throws -> Response
    ) {
        @Sendable func decoded(_ payload: ByteBuffer) throws -> Request {
            guard let request = try? Request(protobuf: payload) else { throw RPCError.malformed }
            return request
        }
        handlers[endpoint.method] = Handler(
            answer: { try await ByteBuffer(protobuf: body(decoded($1), $0)) }, scope: { CallScope(try decoded($0)) })
    }

    /// True if a handler of the method is registered.
    func handles(_ method: RPCMethod) -> Bool { handlers[method] != nil }

    /// Returns the part of a request that determines its database.
    func scope(of method: RPCMethod, payload: ByteBuffer) throws -> CallScope {
        guard let handler = handlers[method] else { throw RPCError.unknownMethod }
        return try handler.scope(payload)
    }

    /// Handles a call.
    public func handleCall(_ context: RPCContext, payload: ByteBuffer) async throws -> ByteBuffer {
        guard let handler = handlers[context.method] else { throw RPCError.unknownMethod }
        return try await answering(context) { try await handler.answer(context, payload) }
    }

    /// Runs the handling of a call, and converts its errors to those that the caller receives.
    func answering(_ context: RPCContext, _ body: () async throws -> ByteBuffer) async throws -> ByteBuffer {
        do {
            return try await body()
        } catch let failure as Failure {
            throw RPCError.application(try ByteBuffer(protobuf: ProtoFailure(failure)))
        } catch let error as RPCError {
            throw error
        } catch is CancellationError {
            throw RPCError.cancelled
        } catch {
            logger.error(
                "unexpected error in a call",
                metadata: [
                    "rpc.method": "\(context.method.rawValue)", "trace.id": "\(context.trace)",
                    "error.type": "\(type(of: error))",
                ])
            throw RPCError.application(
                try ByteBuffer(
                    protobuf: ProtoFailure(Failure(.internalServerError, "An internal error occurred."))))
        }
    }
}

extension Failure {
    /// The failure for a response that exceeds the size limit, regardless of the request's size. It is the server's
    /// fault, and a retry would not help.
    public static let answerTooLarge = Failure(.internalServerError, "The answer is too large.")

    /// Creates the failure for a client whose call to a service failed.
    init(rpcError error: RPCError) {
        if let payload = error.payload, let proto = try? ProtoFailure(protobuf: payload) {
            self = Failure(proto)
            return
        }
        switch error.code {
        case .tooLarge: self = Failure(.invalidRequest, "The request is too large.")
        case .answerTooLarge: self = .answerTooLarge
        case .malformed, .internal: self = Failure(.internalServerError, "An internal error occurred.")
        // An instance of an earlier version that does not know the method has done nothing, and another instance may
        // know it. A service that hangs is as unavailable as one that has ended. 408 would blame the client, and some
        // clients repeat a request automatically after 408, which is not allowed for a patch.
        default: self = .unavailable
        }
    }
}

extension SwiftProtobuf.Message {
    /// Decodes the readable bytes of `buffer`.
    public init(protobuf buffer: ByteBuffer) throws {
        try self.init(serializedBytes: BufferBytes(buffer: buffer))
    }
}

extension ByteBuffer {
    /// Encodes `message` in the binary format.
    public init(protobuf message: some SwiftProtobuf.Message) throws {
        self = (try message.serializedBytes() as BufferBytes).buffer
    }
}

/// The readable bytes of a buffer, which SwiftProtobuf reads and writes without a copy.
private struct BufferBytes: SwiftProtobufContiguousBytes {
    var buffer: ByteBuffer

    init(buffer: ByteBuffer) { self.buffer = buffer }
    init(repeating byte: UInt8, count: Int) { buffer = ByteBuffer(repeating: byte, count: count) }
    init(_ sequence: some Sequence<UInt8>) { buffer = ByteBuffer(bytes: sequence) }

    var count: Int { buffer.readableBytes }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try buffer.withUnsafeReadableBytes(body)
    }

    mutating func withUnsafeMutableBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try buffer.withUnsafeMutableReadableBytes(body)
    }
}
