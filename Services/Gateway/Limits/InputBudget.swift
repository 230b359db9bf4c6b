// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import NIOCore
import Synchronization

/// The memory limit for client input in this process: incomplete bodies and messages, queued requests, and parsed
/// requests.
///
/// Each connection or request has a share, and all shares draw on one limit:
/// - A share of at most ``shortBytes`` may grow until the whole limit is in use.
/// - A larger share may grow until three quarters are in use. The last quarter stays free for short requests of other
///   connections.
/// - A larger share may grow until all shares of its client address hold a quarter.
final class InputBudget: Sendable {
    /// The largest share that may use the last quarter.
    static let shortBytes = 16 << 10

    /// The bytes that all shares of one client address hold.
    private final class Address: Sendable {
        private let held = Atomic<Int>(0)

        /// Returns the bytes held afterwards.
        @discardableResult
        func add(_ count: Int) -> Int { held.wrappingAdd(count, ordering: .relaxed).newValue }
    }

    let limit: Int
    private let taken = Atomic<Int>(0)
    private let addresses = Mutex<[RateKey: (address: Address, shares: Int)]>([:])
    private let meter = Meter(label: "strata_gateway_input_bytes")
    private let refused = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "input_bytes")])

    init(limit: Int) { self.limit = limit }

    /// Bytes that all shares hold.
    var inUse: Int { taken.load(ordering: .relaxed) }

    /// True if more than half is in use. Then slow senders have less time (``ArrivalTime``).
    var isTight: Bool { inUse > limit / 2 }

    private func opened(_ key: RateKey) -> Address {
        addresses.withLock { addresses in
            let address = addresses[key]?.address ?? Address()
            addresses[key] = (address, (addresses[key]?.shares ?? 0) + 1)
            return address
        }
    }

    private func closed(_ key: RateKey) {
        addresses.withLock { addresses in
            guard let (address, shares) = addresses[key] else { return }
            addresses[key] = shares > 1 ? (address, shares - 1) : nil
        }
    }

    /// The input of one connection or request. Its bytes are released with its last reference.
    final class Share: Sendable {
        let budget: InputBudget
        private let bytes = Atomic<Int>(0)
        private let key: RateKey?
        private let address: Address?

        /// - Parameter key: the client's address; nil if it is unknown.
        init(_ budget: InputBudget, of key: RateKey? = nil) {
            self.budget = budget
            self.key = key
            address = key.map { budget.opened($0) }
        }

        deinit {
            release(held)
            if let key { budget.closed(key) }
        }

        var held: Int { bytes.load(ordering: .relaxed) }

        /// Reserves bytes. Returns false if they would exceed a limit.
        func reserve(_ count: Int) -> Bool {
            guard count > 0 else { return true }
            let isShort = bytes.wrappingAdd(count, ordering: .relaxed).newValue <= InputBudget.shortBytes
            let ofAddress = address?.add(count) ?? 0
            let ofAll = budget.taken.wrappingAdd(count, ordering: .relaxed).newValue
            guard isShort ? ofAll <= budget.limit : ofAll <= budget.limit / 4 * 3 && ofAddress <= budget.limit / 4
            else {
                subtract(count)
                budget.refused.increment()
                return false
            }
            budget.meter.increment(by: Double(count))
            return true
        }

        func release(_ count: Int) {
            guard count > 0 else { return }
            subtract(count)
            budget.meter.increment(by: -Double(count))
        }

        private func subtract(_ count: Int) {
            bytes.wrappingSubtract(count, ordering: .relaxed)
            address?.add(-count)
            budget.taken.wrappingSubtract(count, ordering: .relaxed)
        }
    }
}

/// The time limit for the arrival of a body or message. The base is ``timeout``; it is extended while the average rate
/// exceeds a minimum.
///
/// While the input budget is tight, a third of the time remains, and the minimum rate is a hundred times as high.
/// Otherwise few connections could occupy a large part of the budget for half an hour each.
struct ArrivalTime: Sendable {
    /// The minimum rate. Any usable connection is faster.
    static let bytesPerSecond = 500.0
    /// The minimum rate while the budget is tight.
    static let tightBytesPerSecond = 50_000.0

    let timeout: TimeAmount

    /// The time between two checks.
    var step: TimeAmount { .nanoseconds(max(1_000_000, timeout.nanoseconds / 3)) }

    /// Returns the time until the next check, or nil if the sender is too slow.
    /// - Parameters:
    ///   - elapsed: the time since the first byte.
    ///   - bytes: the number of bytes received in this time.
    func nextCheck(after elapsed: TimeAmount, bytes: Int, isTight: Bool) -> TimeAmount? {
        let base = isTight ? step : timeout
        let rate = isTight ? Self.tightBytesPerSecond : Self.bytesPerSecond
        let allowed = TimeAmount.nanoseconds(max(base.nanoseconds, Int64(min(Double(bytes) / rate, 1e9) * 1e9)))
        guard elapsed < allowed else { return nil }
        return min(step, allowed - elapsed + .milliseconds(1))
    }
}
