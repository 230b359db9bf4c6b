// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import NetKit

struct GatewayMetrics: Sendable {
    /// Typing and presence packets that were dropped because a socket did not keep up.
    let ephemeralsDropped = Counter(label: "strata_gateway_ephemerals_dropped_total")
    /// The backlog in bytes of all sockets whose clients do not read. ``GatewaySettings/SocketLimits/backlogBytes``
    /// limits that of each socket.
    let backlogBytes = Meter(label: "strata_gateway_socket_backlog_bytes")
    /// The bytes of socket requests that are queued or in progress.
    let socketRequestBytes = Meter(label: "strata_gateway_socket_request_bytes")
    /// Socket requests refused because the requests of their socket exceeded a limit in number or bytes.
    let refusedSocketRequests = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "socket")])
    let slowSocketsClosed = Counter(label: "strata_gateway_slow_sockets_closed_total")
    /// Conversations omitted from a catch-up or list, because they could not be read. One cause is a size above the
    /// limit for service responses.
    let unshownConversations = Counter(label: "strata_gateway_unshown_conversations_total")
    /// Frames that could not be parsed as packets. Each closed its socket.
    let malformedFrames = Counter(label: "strata_gateway_malformed_frames_total")

    /// Counts a connection that was ended because of its client. Reasons: `slow_request`, `no_request`,
    /// `malformed_request`, `stalled`.
    static func cut(_ reason: String) {
        Counter(label: "strata_gateway_connections_cut_total", dimensions: [("reason", reason)]).increment()
    }

    func answered(status: Int, method: String, in duration: Duration) {
        let kind = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(method) ? method : "other"
        Timer(
            label: "strata_gateway_request_duration_seconds", dimensions: [("method", kind), ("status", "\(status)")]
        )
        .recordNanoseconds(duration.wholeNanoseconds)
    }
}
