// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import Metrics
import NetKit
import Synchronization

/// Counts client connections of the process and of each client address, and refuses those that exceed a limit.
///
/// Only new connections are refused; open ones stay. Behind trusted proxies (`STRATA_TRUSTED_PROXIES`) all connections
/// come from a few addresses. Sockets then count for the address that the proxy names. Plain HTTP connections carry
/// requests of many clients, so they count only towards the total.
final class ClientConnections: Sendable {
    struct Limits: Sendable {
        /// The maximum number of connections of the process.
        var total: Int
        /// The maximum number for one address. nil: no limit.
        var perAddress: Int? = 10_000
    }

    enum Refusal: Sendable, Equatable {
        case process, address
    }

    private struct State {
        var total = 0
        var addresses: [RateKey: Int] = [:]
        /// True from the log line about the limit until the end of the shortage.
        var isFull = false
    }

    let limits: Limits
    private let logger: Logger
    private let state = Mutex(State())
    private let allClosed = Wakeup()
    private let open = Gauge(label: "strata_gateway_connections")
    private let refusedByProcess = Counter(
        label: "strata_gateway_refused_connections_total", dimensions: [("by", "process")])
    private let refusedByAddress = Counter(
        label: "strata_gateway_refused_connections_total", dimensions: [("by", "address")])

    init(_ limits: Limits, logger: Logger) {
        self.limits = limits
        self.logger = logger
        Gauge(label: "strata_gateway_connections_limit").record(limits.total)
    }

    /// Counts an accepted connection. Unless it is refused, the caller calls ``closed(_:)`` when it ends.
    /// - Parameter address: the client's address. nil: the connection counts only towards the total.
    func opened(_ address: RateKey?) -> Refusal? {
        let (refusal, total, isNews) = state.withLock { state -> (Refusal?, Int, Bool) in
            if state.total >= limits.total {
                defer { state.isFull = true }
                return (.process, state.total, !state.isFull)
            }
            guard Self.add(address, within: limits.perAddress, to: &state) else {
                return (.address, state.total, false)
            }
            state.total += 1
            return (nil, state.total, false)
        }
        open.record(total)
        switch refusal {
        case .process: refusedByProcess.increment()
        case .address: refusedByAddress.increment()
        case nil: break
        }
        if isNews {
            logger.error(
                "connection limit reached, refusing new connections",
                metadata: ["settings.key": "STRATA_CONNECTIONS", "listener.connections": "\(total)"])
        }
        return refusal
    }

    /// Releases a connection that was not refused.
    func closed(_ address: RateKey?) {
        let (total, isNews) = state.withLock { state -> (Int, Bool) in
            state.total -= 1
            Self.remove(address, from: &state)
            // Hysteresis: log once when usage falls to 90 %, not for every closed connection.
            let isNews = state.isFull && state.total <= limits.total * 9 / 10
            if isNews { state.isFull = false }
            return (state.total, isNews)
        }
        open.record(total)
        if total == 0 { allClosed.signal() }
        if isNews {
            logger.notice("accepting new connections again", metadata: ["listener.connections": "\(total)"])
        }
    }

    /// Waits until no connection is open, or until the task is cancelled. Only one task may wait.
    func waitUntilClosed() async {
        while !Task.isCancelled, state.withLock({ $0.total > 0 }) { await allClosed.wait() }
    }

    /// Counts an open connection that becomes a socket of this address. Unless it is refused, the caller calls
    /// ``socketClosed(_:)`` when it ends.
    func socketOpened(_ address: RateKey) -> Refusal? {
        guard state.withLock({ Self.add(address, within: limits.perAddress, to: &$0) }) else {
            refusedByAddress.increment()
            return .address
        }
        return nil
    }

    func socketClosed(_ address: RateKey) { state.withLock { Self.remove(address, from: &$0) } }

    /// Returns true if the next connection of this address would be refused.
    func isFull(_ address: RateKey) -> Bool {
        guard let limit = limits.perAddress else { return false }
        return state.withLock { $0.addresses[address] ?? 0 >= limit }
    }

    private static func add(_ address: RateKey?, within limit: Int?, to state: inout State) -> Bool {
        guard let address, let limit else { return true }
        let count = state.addresses[address] ?? 0
        guard count < limit else { return false }
        state.addresses[address] = count + 1
        return true
    }

    private static func remove(_ address: RateKey?, from state: inout State) {
        guard let address, let count = state.addresses[address] else { return }
        state.addresses[address] = count > 1 ? count - 1 : nil
    }
}
