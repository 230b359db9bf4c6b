// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Why a call has no answer.
///
/// A handler throws it as well: the code, and the payload of ``RPCError/application(_:)``, travel to the caller; nothing else of an error does.
public struct RPCError: Error, Sendable, Hashable {
    /// What happened.
    public let code: Code
    /// The callee's own typed error, encoded. Only with ``Code/application``.
    public let payload: ByteBuffer?
    /// Whether this is the answer of a second instance, after the call had been lost on its way to the first: that one may still carry it out, later even than
    /// this error came, and unless the call only reads, what became of it is open.
    public internal(set) var isAfterLoss = false

    /// An error of a code without payload.
    public init(_ code: Code) {
        self.code = code
        self.payload = nil
    }

    private init(application payload: ByteBuffer) {
        self.code = .application
        self.payload = payload
    }

    /// Whether the call certainly had no effect, so that even one that is not idempotent may be repeated, preferably after a pause.
    public var isRetryable: Bool {
        code == .unavailable || code == .overloaded
    }

    /// An error that the callee defines; its encoding is opaque here and must fit a frame.
    public static func application(_ payload: ByteBuffer) -> RPCError {
        RPCError(application: payload)
    }

    /// See ``Code/unavailable``.
    public static let unavailable = RPCError(.unavailable)
    /// See ``Code/transportLost``.
    public static let transportLost = RPCError(.transportLost)
    /// See ``Code/overloaded``.
    public static let overloaded = RPCError(.overloaded)
    /// See ``Code/deadlineExceeded``.
    public static let deadlineExceeded = RPCError(.deadlineExceeded)
    /// See ``Code/cancelled``.
    public static let cancelled = RPCError(.cancelled)
    /// See ``Code/unauthenticated``.
    public static let unauthenticated = RPCError(.unauthenticated)
    /// See ``Code/unknownMethod``.
    public static let unknownMethod = RPCError(.unknownMethod)
    /// See ``Code/malformed``.
    public static let malformed = RPCError(.malformed)
    /// See ``Code/tooLarge``.
    public static let tooLarge = RPCError(.tooLarge)
    /// See ``Code/answerTooLarge``.
    public static let answerTooLarge = RPCError(.answerTooLarge)
    /// See ``Code/internal``.
    public static let `internal` = RPCError(.internal)
}

extension RPCError {
    /// The kinds of failure. More may be added; handle those you know and treat the rest as ``internal``.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The number that travels. Never renumber.
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

        /// The call never reached a handler: no instance is connected, or the request was never written. A handler that throws it promises that
        /// it has done nothing.
        public static let unavailable = Code(base: .unavailable)
        /// The connection was lost after the request was written: whether it was carried out is unknown.
        public static let transportLost = Code(base: .transportLost)
        /// A bound on calls in flight or on queued bytes was reached, here or at the callee, before anything was done.
        public static let overloaded = Code(base: .overloaded)
        /// The deadline passed first. Whether the call was carried out is unknown.
        public static let deadlineExceeded = Code(base: .deadlineExceeded)
        /// The calling task was cancelled, or the handler gave up. Whether the call was carried out is unknown.
        public static let cancelled = Code(base: .cancelled)
        /// The two sides do not hold the same cluster secret.
        public static let unauthenticated = Code(base: .unauthenticated)
        /// The callee does not know the method.
        public static let unknownMethod = Code(base: .unknownMethod)
        /// The callee could not read the payload, or the caller the answer.
        public static let malformed = Code(base: .malformed)
        /// The request does not fit a frame, or is longer than the handler takes: the caller's fault.
        public static let tooLarge = Code(base: .tooLarge)
        /// The answer is longer than the callee may send or the caller takes: the callee's fault, however small the request was. What was asked for has been
        /// carried out.
        public static let answerTooLarge = Code(base: .answerTooLarge)
        /// The handler failed for a reason that is in the callee's log only.
        public static let `internal` = Code(base: .internal)
        /// The callee's own error; see ``RPCError/payload``.
        public static let application = Code(base: .application)

        /// The code's name.
        public var description: String { "\(base)" }
    }
}

extension RPCError: CustomStringConvertible {
    /// The code's name, never a payload.
    public var description: String { "RPC error: \(code)" }
}
