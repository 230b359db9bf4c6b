// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Metrics
import NetKit
import Synchronization

/// The metrics of calls by method and outcome. Metric handles are cached, because creating one costs far more than a
/// call.
final class RPCMetrics: Sendable {
    private struct Handles {
        var outcomes: [UInt16: Counter] = [:]
        var duration: Timer
    }

    private let prefix: String
    private let dimensions: [(String, String)]
    private let methodName: @Sendable (RPCMethod) -> String
    private let methods = Mutex<[RPCMethod: Handles]>([:])
    let inFlight: Gauge
    /// The size of the requests queued for sockets, on a client. On a server, the size of the requests with running
    /// handlers and of unsent long responses.
    let bytes: Gauge
    /// The size of incomplete long responses; nil for a server.
    let arrivingBytes: Gauge?
    let connections: Gauge
    /// The number of reconnections; nil for a server, which never reconnects.
    let reconnects: Counter?
    /// The number of refused connections. On a server: of peers that did not authenticate, violated the protocol, or
    /// exceeded the limit. On a client: those that failed as unauthenticated.
    let refusedConnections: Counter

    /// Creates metrics.
    /// - Parameters:
    ///   - prefix: `strata_rpc_client` or `strata_rpc_server`.
    ///   - dimensions: the labels of all metrics of this client or server.
    init(prefix: String, dimensions: [(String, String)], methodName: @escaping @Sendable (RPCMethod) -> String) {
        self.prefix = prefix
        self.dimensions = dimensions
        self.methodName = methodName
        self.inFlight = Gauge(label: prefix + "_calls_in_flight", dimensions: dimensions)
        self.bytes = Gauge(
            label: prefix + (prefix == "strata_rpc_server" ? "_bytes_in_flight" : "_queued_bytes"),
            dimensions: dimensions)
        self.arrivingBytes =
            prefix == "strata_rpc_client" ? Gauge(label: prefix + "_answer_bytes", dimensions: dimensions) : nil
        self.connections = Gauge(label: prefix + "_connections", dimensions: dimensions)
        self.reconnects =
            prefix == "strata_rpc_client" ? Counter(label: prefix + "_reconnects_total", dimensions: dimensions) : nil
        self.refusedConnections = Counter(label: prefix + "_refused_connections_total", dimensions: dimensions)
    }

    /// Records the end of a call.
    /// - Parameter code: nil for success.
    func ended(_ method: RPCMethod, code: RPCError.Code?, after duration: Duration) {
        // A peer that sends unknown method numbers must not create a time series for each of them.
        let method = code == .unknownMethod ? nil : method
        let handles = methods.withLock { methods in
            let key = method ?? RPCMethod(rawValue: .max)
            let outcome = code?.base.rawValue ?? 0
            var handles = methods[key] ?? make(method)
            let counter = handles.outcomes[outcome] ?? make(method, outcome: code?.description ?? "ok")
            if handles.outcomes[outcome] == nil {
                handles.outcomes[outcome] = counter
                methods[key] = handles
            }
            return (counter, handles.duration)
        }
        handles.0.increment()
        handles.1.recordNanoseconds(duration.wholeNanoseconds)
    }

    private func make(_ method: RPCMethod?) -> Handles {
        Handles(duration: Timer(label: prefix + "_call_duration", dimensions: labels(method)))
    }

    private func make(_ method: RPCMethod?, outcome: String) -> Counter {
        Counter(label: prefix + "_calls_total", dimensions: labels(method) + [("outcome", outcome)])
    }

    private func labels(_ method: RPCMethod?) -> [(String, String)] {
        dimensions + [("method", method.map(methodName) ?? "unknown")]
    }
}
