// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import Metrics
import Synchronization

/// Counts the connections of clients, of this process and of each address, and says which one is too many.
///
/// What is refused is new; nothing that is open is touched. Behind proxies that say whom they serve (`STRATA_TRUSTED_PROXIES`) all connections come from the
/// same few addresses: then sockets are counted for the address that the proxy names, and plain HTTP, whose connections carry requests of many, only in all.
final class ClientConnections: Sendable {
    /// Settings of it.
    struct Limits: Sendable {
        /// Of the process.
        var total: Int
        /// Of one address; nil: no limit.
        var perAddress: Int? = 10_000
    }

    /// Why a connection is not taken.
    enum Refusal: Sendable, Equatable {
        case process, address
    }

    private struct State {
        var total = 0
        var addresses: [RateKey: Int] = [:]
        /// Whether it was said that there are too many.
        var isFull = false
    }

    let limits: Limits
    private let logger: Logger
    private let state = Mutex(State())
    private let open = Gauge(label: "strata_gateway_connections")
    private let refusedByProcess = Counter(label: "strata_gateway_refused_connections_total", dimensions: [("by", "process")])
    private let refusedByAddress = Counter(label: "strata_gateway_refused_connections_total", dimensions: [("by", "address")])

    init(_ limits: Limits, logger: Logger) {
        self.limits = limits
        self.logger = logger
        Gauge(label: "strata_gateway_connections_limit").record(limits.total)
    }

    /// A connection was accepted. Unless it is refused, ``closed(_:)`` follows when it ends.
    /// - Parameter address: nil: it is not counted for any.
    func opened(_ address: RateKey?) -> Refusal? {
        let (refusal, total, isNews) = state.withLock { state -> (Refusal?, Int, Bool) in
            if state.total >= limits.total {
                defer { state.isFull = true }
                return (.process, state.total, !state.isFull)
            }
            guard Self.add(address, within: limits.perAddress, to: &state) else { return (.address, state.total, false) }
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
                "new connections are refused, there are as many as there may be",
                metadata: ["settings.key": "STRATA_CONNECTIONS", "listener.connections": "\(total)"])
        }
        return refusal
    }

    /// A connection that was not refused has ended.
    func closed(_ address: RateKey?) {
        let (total, isNews) = state.withLock { state -> (Int, Bool) in
            state.total -= 1
            Self.remove(address, from: &state)
            // With some distance, or a crowd at the door would make a line of log for each who leaves.
            let isNews = state.isFull && state.total <= limits.total * 9 / 10
            if isNews { state.isFull = false }
            return (state.total, isNews)
        }
        open.record(total)
        if isNews { logger.notice("new connections are accepted again", metadata: ["listener.connections": "\(total)"]) }
    }

    /// A connection that is open already becomes a socket of this address. Unless this is refused, ``socketClosed(_:)`` follows.
    func socketOpened(_ address: RateKey) -> Refusal? {
        guard state.withLock({ Self.add(address, within: limits.perAddress, to: &$0) }) else {
            refusedByAddress.increment()
            return .address
        }
        return nil
    }

    /// The other end of ``socketOpened(_:)``.
    func socketClosed(_ address: RateKey) { state.withLock { Self.remove(address, from: &$0) } }

    /// Whether the next connection of this address would be refused.
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
