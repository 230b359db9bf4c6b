// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import Synchronization

/// The bytes that bodies of REST requests may take in memory, all together, from the first byte that is read to the answer.
///
/// Each body has its own bound, but there may be as many requests as connections, and a client that sends slowly holds what it has sent.
final class BodyBudget: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)
    private let gauge = Gauge(label: "strata_gateway_body_bytes")
    private let refused = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "body_bytes")])

    init(limit: Int) { self.limit = limit }

    /// What one request holds; given back when its last owner lets it go, at the latest with the request.
    final class Lease: Sendable {
        private let budget: BodyBudget
        private let bytes = Atomic<Int>(0)
        private let hasBody = Atomic<Bool>(false)

        init(_ budget: BodyBudget) { self.budget = budget }

        deinit { budget.change(by: -bytes.load(ordering: .relaxed)) }

        /// Takes as much for the request's body, and nothing when the body is read once more.
        func takeBody(_ count: Int) -> Bool { hasBody.exchange(true, ordering: .relaxed) || take(count) }

        /// Takes as much. False: there is not so much left, and the request should be refused.
        func take(_ count: Int) -> Bool {
            guard budget.change(by: count) <= budget.limit else {
                budget.change(by: -count)
                budget.refused.increment()
                return false
            }
            bytes.wrappingAdd(count, ordering: .relaxed)
            return true
        }
    }

    @discardableResult
    private func change(by count: Int) -> Int {
        guard count != 0 else { return taken.load(ordering: .relaxed) }
        let now = taken.wrappingAdd(count, ordering: .relaxed).newValue
        gauge.record(now)
        return now
    }
}
