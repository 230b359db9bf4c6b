// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import NetKit

/// What an operator sees of a gateway.
struct GatewayMetrics: Sendable {
    /// Typing and presence that a slow socket was not told.
    let ephemeralsDropped = Counter(label: "strata_gateway_ephemerals_dropped_total")
    /// Bytes that wait for sockets whose clients do not read; at most so many a socket as settings say.
    let backlogBytes = Meter(label: "strata_gateway_socket_backlog_bytes")
    /// Bytes of requests of sockets that are worked on or wait.
    let socketRequestBytes = Meter(label: "strata_gateway_socket_request_bytes")
    /// Requests of sockets that were refused because too many, or too many bytes, of the same socket were worked on or waited.
    let refusedSocketRequests = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "socket")])
    /// Sockets closed because their clients did not read.
    let slowSocketsClosed = Counter(label: "strata_gateway_slow_sockets_closed_total")
    /// Conversations that a catch-up or a list went on without, since they could not be had: one that is larger than an answer of a service may be.
    let unshownConversations = Counter(label: "strata_gateway_unshown_conversations_total")
    /// Frames that were no packet, each of which closed its socket.
    let malformedFrames = Counter(label: "strata_gateway_malformed_frames_total")

    /// A connection was ended because of what its client sent, or did not, or did not take: `slow_request`, `no_request`, `malformed_request`, `stalled`.
    static func cut(_ reason: String) {
        Counter(label: "strata_gateway_connections_cut_total", dimensions: [("reason", reason)]).increment()
    }

    /// A REST request was answered.
    func answered(status: Int, method: String, in duration: Duration) {
        let kind = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(method) ? method : "other"
        Timer(label: "strata_gateway_request_duration_seconds", dimensions: [("method", kind), ("status", "\(status)")])
            .recordNanoseconds(duration.wholeNanoseconds)
    }
}
