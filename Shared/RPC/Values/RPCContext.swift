// SPDX-License-Identifier: Apache-2.0

/// What a handler knows about a call besides its payload.
public struct RPCContext: Sendable {
    /// What is asked for.
    public let method: RPCMethod
    /// When the caller stops waiting. The handler's task is cancelled then; what it answers later is dropped.
    public let deadline: ContinuousClock.Instant
    /// The request's name in the logs.
    public let trace: TraceID
    /// The caller's address, for logs.
    public let peer: String

    /// A context; handlers get theirs from the server, tests make their own.
    public init(method: RPCMethod, deadline: ContinuousClock.Instant, trace: TraceID, peer: String) {
        self.method = method
        self.deadline = deadline
        self.trace = trace
        self.peer = peer
    }
}
