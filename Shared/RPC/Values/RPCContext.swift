// SPDX-License-Identifier: Apache-2.0

/// The properties of a call, besides its payload.
public struct RPCContext: Sendable {
    /// The requested method.
    public let method: RPCMethod
    /// The time until which the caller waits. Then the handler's task is cancelled, and later results are discarded.
    public let deadline: ContinuousClock.Instant
    /// The id of the request in logs.
    public let trace: TraceID
    /// The caller's address, for logs.
    public let peer: String

    /// Creates a context. The server creates those for handlers.
    public init(method: RPCMethod, deadline: ContinuousClock.Instant, trace: TraceID, peer: String) {
        self.method = method
        self.deadline = deadline
        self.trace = trace
        self.peer = peer
    }
}
