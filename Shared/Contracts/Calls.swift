// SPDX-License-Identifier: Apache-2.0
public import Logging
public import Model
public import NIOCore
public import RPC
public import SwiftProtobuf

/// Keeps account of the answers of services for somebody who bounds what is held at a time.
public protocol CallAnswers: AnyObject, Sendable {
    /// An answer of so many bytes has come, and is about to be decoded.
    /// - Throws: what its caller gets instead.
    func received(_ count: Int) throws(Failure)
}

/// Who keeps account of the answers that a task gets.
public enum RPCAnswers {
    /// Nil: nobody.
    @TaskLocal public static var account: (any CallAnswers)?
}

extension RPCClient {
    /// Calls `endpoint` and decodes its answer.
    /// - Throws: ``Model/Failure`` as the service decided it; `service_unavailable` when no instance could be reached in time, or
    ///   when the fate of a call that may not be repeated is unknown; what ``RPCAnswers/account`` throws.
    public func call<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, deadline: ContinuousClock.Instant, trace: TraceID
    ) async throws(Failure) -> Response {
        let payload: ByteBuffer
        do {
            payload = try ByteBuffer(protobuf: request)
        } catch {
            throw Failure(.internalServerError, "The request could not be encoded.")
        }
        let answer: ByteBuffer
        do {
            answer = try await call(endpoint.method, payload, deadline: deadline, trace: trace, isIdempotent: endpoint.effect != .once)
        } catch {
            let failure = Failure(rpcError: error)
            // Whoever is told that he may not do something has to be sure that it is not done.
            guard error.isAfterLoss, endpoint.effect == .repeatable, !failure.saysThatItIsDone else { throw failure }
            throw Failure(rpcError: .transportLost)
        }
        try RPCAnswers.account?.received(answer.readableBytes)
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

/// The methods a service answers, by number: what an `RPCServer` is given as its handler.
public struct CallRouter: Sendable {
    private typealias Handler = @Sendable (RPCContext, ByteBuffer) async throws -> ByteBuffer
    private var handlers: [RPCMethod: Handler] = [:]
    private let logger: Logger

    /// - Parameter logger: hears of errors that are not refusals.
    public init(logger: Logger) { self.logger = logger }

    /// Answers `endpoint` with `body`. A ``Model/Failure`` it throws reaches the caller as it is; any other error is logged with the
    /// call's trace and becomes `internal_server_error`.
    public mutating func register<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ body: @escaping @Sendable (Request, RPCContext) async throws -> Response
    ) {
        handlers[endpoint.method] = { context, payload in
            guard let request = try? Request(protobuf: payload) else { throw RPCError.malformed }
            return try await ByteBuffer(protobuf: body(request, context))
        }
    }

    /// Answers one call.
    public func handle(_ context: RPCContext, _ payload: ByteBuffer) async throws -> ByteBuffer {
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
                metadata: ["rpc.method": "\(context.method.rawValue)", "trace": "\(context.trace)", "error.type": "\(type(of: error))"])
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
