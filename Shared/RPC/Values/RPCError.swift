// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// An error of a call.
///
/// A handler can throw it, too. Only the code, and the payload of ``RPCError/application(_:)``, are sent to the caller.
public struct RPCError: Error, Sendable, Hashable {
    /// The kind of error.
    public let code: Code
    /// The callee's own encoded error, only with ``Code/application``.
    public let payload: ByteBuffer?
    /// True if a second instance returned the error after the call to the first one was lost. The first instance may
    /// still carry out the call, even after this error. Unless the call is read-only, its outcome is therefore unknown.
    public internal(set) var isAfterLoss = false

    /// Creates an error without a payload.
    public init(_ code: Code) {
        self.code = code
        self.payload = nil
    }

    private init(application payload: ByteBuffer) {
        self.code = .application
        self.payload = payload
    }

    /// True if the call certainly had no effect. Even a call that is not idempotent may then be retried, preferably
    /// after a pause.
    public var isRetryable: Bool {
        code == .unavailable || code == .overloaded
    }

    /// Creates an error defined by the callee. Its opaque encoding must fit into a frame.
    public static func application(_ payload: ByteBuffer) -> RPCError {
        RPCError(application: payload)
    }

    /// The error with ``Code/unavailable``.
    public static let unavailable = RPCError(.unavailable)
    /// The error with ``Code/transportLost``.
    public static let transportLost = RPCError(.transportLost)
    /// The error with ``Code/overloaded``.
    public static let overloaded = RPCError(.overloaded)
    /// The error with ``Code/deadlineExceeded``.
    public static let deadlineExceeded = RPCError(.deadlineExceeded)
    /// The error with ``Code/cancelled``.
    public static let cancelled = RPCError(.cancelled)
    /// The error with ``Code/unauthenticated``.
    public static let unauthenticated = RPCError(.unauthenticated)
    /// The error with ``Code/unknownMethod``.
    public static let unknownMethod = RPCError(.unknownMethod)
    /// The error with ``Code/malformed``.
    public static let malformed = RPCError(.malformed)
    /// The error with ``Code/tooLarge``.
    public static let tooLarge = RPCError(.tooLarge)
    /// The error with ``Code/answerTooLarge``.
    public static let answerTooLarge = RPCError(.answerTooLarge)
    /// The error with ``Code/internal``.
    public static let `internal` = RPCError(.internal)
}

extension RPCError {
    /// The kind of error. New kinds may be added; treat unknown ones like ``internal``.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The number on the wire. Never change a number.
        enum Base: UInt16, CaseIterable {
            case unavailable = 1
            case transportLost = 2
            case overloaded = 3
            case deadlineExceeded = 4
            case cancelled = 5
            case unauthenticated = 6
            case unknownMethod = 7
            case malformed = 8
            case tooLarge = 9
            case `internal` = 10
            case application = 11
            case answerTooLarge = 12
        }

        let base: Base

        /// The call never reached a handler: no instance is connected, or the request was not written. A handler that
        /// throws it guarantees that it has done nothing.
        public static let unavailable = Code(base: .unavailable)
        /// The connection was lost after the request was written. Whether the call was carried out is unknown.
        public static let transportLost = Code(base: .transportLost)
        /// A limit on calls in flight or on queued bytes was reached, at the caller or the callee, before the call had
        /// an effect.
        public static let overloaded = Code(base: .overloaded)
        /// The deadline passed. Whether the call was carried out is unknown.
        public static let deadlineExceeded = Code(base: .deadlineExceeded)
        /// The calling task was cancelled, or the handler aborted. Whether the call was carried out is unknown.
        public static let cancelled = Code(base: .cancelled)
        /// The two sides hold different cluster secrets.
        public static let unauthenticated = Code(base: .unauthenticated)
        /// The callee does not know the method.
        public static let unknownMethod = Code(base: .unknownMethod)
        /// The callee could not decode the payload, or the caller the response.
        public static let malformed = Code(base: .malformed)
        /// The request does not fit into a frame, or exceeds the handler's limit. The caller is at fault.
        public static let tooLarge = Code(base: .tooLarge)
        /// The response exceeds the limit of the callee or the caller, regardless of the request's size. The callee is
        /// at fault. The call was carried out.
        public static let answerTooLarge = Code(base: .answerTooLarge)
        /// The handler failed for a reason that only the callee's log contains.
        public static let `internal` = Code(base: .internal)
        /// The callee returned its own error. See ``RPCError/payload``.
        public static let application = Code(base: .application)

        /// The code's name.
        public var description: String { "\(base)" }
    }
}

extension RPCError: CustomStringConvertible {
    /// The code's name, without the payload.
    public var description: String { "RPC error: \(code)" }
}
