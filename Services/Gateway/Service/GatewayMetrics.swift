// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics

/// What an operator sees of a gateway.
struct GatewayMetrics: Sendable {
    /// Open sockets.
    let sockets = Meter(label: "strata_gateway_sockets")
    /// Changes handed to sockets, one for each.
    let deliveries = Counter(label: "strata_gateway_deliveries_total")
    /// Typing and presence that a slow socket was not told.
    let ephemeralsDropped = Counter(label: "strata_gateway_ephemerals_dropped_total")
    /// Sockets closed because their clients did not read.
    let slowSocketsClosed = Counter(label: "strata_gateway_slow_sockets_closed_total")
    /// Frames that were no packet, each of which closed its socket.
    let malformedFrames = Counter(label: "strata_gateway_malformed_frames_total")

    /// A connection was ended because of what it sent, or did not: `slow_request`, `no_request`, `malformed_request`.
    static func cut(_ reason: String) {
        Counter(label: "strata_gateway_connections_cut_total", dimensions: [("reason", reason)]).increment()
    }

    /// A REST request was answered.
    func answered(status: Int, method: String, in duration: Duration) {
        let kind = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(method) ? method : "other"
        Timer(label: "strata_gateway_request_duration_seconds", dimensions: [("method", kind), ("status", "\(status)")])
            .recordNanoseconds(duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000)
    }
}
