// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import NetKit
import Synchronization

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

    private let durations = RequestDurations()

    func answered(status: Int, method: String, in duration: Duration) {
        durations.timer(method: method, status: status).recordNanoseconds(duration.wholeNanoseconds)
    }
}

/// The timers of answered requests by method and status. They are kept, because finding one in the registry renders its
/// labels.
private final class RequestDurations: Sendable {
    private struct Kind: Hashable {
        let method: String
        let status: Int
    }

    private static let methods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    private let timers = Mutex<[Kind: Timer]>([:])

    func timer(method: String, status: Int) -> Timer {
        let kind = Kind(method: Self.methods.contains(method) ? method : "other", status: status)
        return timers.withLock { timers in
            if let timer = timers[kind] { return timer }
            let timer = Timer(
                label: "strata_gateway_request_duration_seconds",
                dimensions: [("method", kind.method), ("status", "\(status)")])
            timers[kind] = timer
            return timer
        }
    }
}
