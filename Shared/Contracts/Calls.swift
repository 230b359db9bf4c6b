// SPDX-License-Identifier: Apache-2.0
public import Logging
public import NIOCore
public import RPC
public import StrataModel
public import SwiftProtobuf

/// Counts the answers of services, for a caller that bounds what it holds at a time.
public protocol CallAnswers: AnyObject, Sendable {
    /// An answer of so many bytes has come, and is about to be decoded.
    /// - Throws: what its caller gets instead.
    func answerReceived(byteCount count: Int) throws(Failure)
}

extension RPCClient {
    /// Calls `endpoint` and decodes its answer.
    /// - Parameter answers: counts the answer.
    /// - Throws: ``StrataModel/Failure`` as the service decided it; `service_unavailable` when no instance could be reached in time, or
    ///   when the fate of a call that may not be repeated is unknown; what `answers` throws.
    public func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, with request: Request, deadline: ContinuousClock.Instant, trace: TraceID,
        answers: (any CallAnswers)? = nil
    ) async throws(Failure) -> Response {
        try await call(endpoint, effect: endpoint.effect, with: request, deadline: deadline, trace: trace, answers: answers)
    }

    /// The same for a change that may have a name: under a name it is carried out once, and so may be repeated whatever the endpoint says.
    public func call<Request: ChangeRequest, Response>(
        _ endpoint: Endpoint<Request, Response>, with request: Request, as mutation: Mutation?, deadline: ContinuousClock.Instant, trace: TraceID,
        answers: (any CallAnswers)? = nil
    ) async throws(Failure) -> Response {
        guard let mutation else { return try await call(endpoint, with: request, deadline: deadline, trace: trace, answers: answers) }
        var request = request
        request.mutation = ProtoMutation(mutation)
        return try await call(endpoint, effect: .repeatable, with: request, deadline: deadline, trace: trace, answers: answers)
    }

    private func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, effect: Effect, with request: Request, deadline: ContinuousClock.Instant, trace: TraceID,
        answers: (any CallAnswers)?
    ) async throws(Failure) -> Response {
        let payload: ByteBuffer
        do {
            payload = try ByteBuffer(protobuf: request)
        } catch {
            throw Failure(.internalServerError, "The request could not be encoded.")
        }
        let answer: ByteBuffer
        do {
            answer = try await call(endpoint.method, with: payload, deadline: deadline, trace: trace, isIdempotent: effect != .once)
        } catch {
            let failure = Failure(rpcError: error)
            // A caller that is told "access denied" must be able to rely on it that nothing was done.
            guard error.isAfterLoss, effect == .repeatable, !failure.saysThatItIsDone else { throw failure }
            throw Failure(rpcError: .transportLost)
        }
        try answers?.answerReceived(byteCount: answer.readableBytes)
        guard let response = try? Response(protobuf: answer) else {
            throw Failure(.internalServerError, "The answer of a service could not be decoded.")
        }
        return response
    }
}

extension Failure {
    /// Whether it is how a service answers a call that it has carried out before.
    fileprivate var saysThatItIsDone: Bool { code == .idInUse || code == .conflict }
}

/// What answers the calls of one feature.
public protocol CallHandler: Sendable {
    func register(on router: inout CallRouter)
}

extension RPCServer {
    /// A server that answers the calls of these handlers.
    /// - Parameter logger: hears of errors that are not refusals.
    public convenience init(
        _ handlers: [any CallHandler], configuration: RPCServerConfiguration, eventLoopGroup: any EventLoopGroup, logger: Logger
    ) {
        var router = CallRouter(logger: logger)
        for handler in handlers { handler.register(on: &router) }
        self.init(
            configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger,
            handler: { [router] context, payload in try await router.handleCall(context, payload: payload) })
    }
}

/// The methods a service answers, by number: what an `RPCServer` is given as its handler.
public struct CallRouter: Sendable {
    private typealias Handler = @Sendable (RPCContext, ByteBuffer) async throws -> ByteBuffer
    private var handlers: [RPCMethod: Handler] = [:]
    private let logger: Logger

    /// - Parameter logger: hears of errors that are not refusals.
    public init(logger: Logger) { self.logger = logger }

    /// Answers `endpoint` with `body`. A ``StrataModel/Failure`` it throws reaches the caller as it is; any other error is logged with the
    /// call's trace and becomes `internal_server_error`.
    public mutating func register<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, body: @escaping @Sendable (Request, RPCContext) async throws -> Response
    ) {
        handlers[endpoint.method] = { context, payload in
            guard let request = try? Request(protobuf: payload) else { throw RPCError.malformed }
            return try await ByteBuffer(protobuf: body(request, context))
        }
    }

    /// Answers one call.
    public func handleCall(_ context: RPCContext, payload: ByteBuffer) async throws -> ByteBuffer {
        guard let handler = handlers[context.method] else { throw RPCError.unknownMethod }
        do {
            return try await handler(context, payload)
        } catch let failure as Failure {
            throw RPCError.application(try ByteBuffer(protobuf: ProtoFailure(failure)))
        } catch let error as RPCError {
            throw error
        } catch is CancellationError {
            throw RPCError.cancelled
        } catch {
            logger.error(
                "a call failed unexpectedly",
                metadata: ["rpc.method": "\(context.method.rawValue)", "trace.id": "\(context.trace)", "error.type": "\(type(of: error))"])
            throw RPCError.application(
                try ByteBuffer(protobuf: ProtoFailure(Failure(.internalServerError, "Something went wrong on our side."))))
        }
    }
}

extension Failure {
    /// The answer of a service is longer than it may be, however small the request was: the server's fault, and nothing that another try would change.
    public static let answerTooLarge = Failure(.internalServerError, "The answer is too large.")

    /// What a caller of a service tells its client when the call itself failed.
    init(rpcError error: RPCError) {
        if let payload = error.payload, let proto = try? ProtoFailure(protobuf: payload) {
            self = Failure(proto)
            return
        }
        switch error.code {
        case .tooLarge: self = Failure(.invalidRequest, "The request is too large.")
        case .answerTooLarge: self = .answerTooLarge
        case .malformed, .internal: self = Failure(.internalServerError, "Something went wrong on our side.")
        // An instance of an earlier version, which does not know the method yet, has done nothing: another one may. And a service that hangs is away
        // like one that has ended. 408 would be the wrong word for it: it blames the client, and some repeat the
        // request then without being asked, which a patch must not be.
        default: self = .unavailable
        }
    }
}

extension SwiftProtobuf.Message {
    /// Decodes the readable bytes of `buffer`.
    public init(protobuf buffer: ByteBuffer) throws {
        try self.init(serializedBytes: Array(buffer.readableBytesView))
    }
}

extension ByteBuffer {
    /// The binary encoding of `message`.
    public init(protobuf message: some SwiftProtobuf.Message) throws {
        self = ByteBuffer(bytes: try message.serializedBytes() as [UInt8])
    }
}
