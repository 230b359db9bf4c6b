// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import Metrics
package import StrataModel
import Synchronization

/// The process-wide budget of bytes on their way to clients: service responses being converted, texts queued for slow
/// clients, and bytes that connections accepted but have not yet sent.
///
/// - Short answers count towards the limit but are never refused, because the number of connections bounds their
///   number.
/// - Long answers are refused before any of their bytes are sent.
/// - While more than three quarters are in use, a client that reads nothing has less time (``ResponseGuard``).
package final class AnswerBudget: Sendable {
    /// The bytes of each answer that are admitted regardless of the limit.
    package static let shortBytes = 64 << 10
    /// The estimated memory of a service response relative to its size on the wire. It exists as received bytes, as
    /// decoded values, and as growing text.
    package static let unpackedFactor = 3

    let limit: Int
    private let taken = Atomic<Int>(0)
    private let meter = Meter(label: "strata_gateway_answer_bytes")
    private let refused = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "answer_bytes")])

    package init(limit: Int) { self.limit = limit }

    /// The bytes held by all leases and callers of ``add(_:)``.
    package var inUse: Int { taken.load(ordering: .relaxed) }
    /// True if more than three quarters of the limit are in use. Slow clients then have less time to read.
    package var isTight: Bool { inUse > limit / 4 * 3 }
    /// Returns true if `bytes` more would exceed the limit.
    package func isExceeded(by bytes: Int) -> Bool { inUse + bytes > limit }

    /// Adds bytes that already exist, without checking the limit.
    package func add(_ bytes: Int) {
        guard bytes != 0 else { return }
        taken.wrappingAdd(bytes, ordering: .relaxed)
        meter.increment(by: Double(bytes))
    }

    /// Releases bytes.
    package func release(_ bytes: Int) { add(-bytes) }

    /// Reserves bytes. Returns false if they would exceed the limit.
    ///
    /// An answer of any size is admitted while usage is at most 1/16 of the limit; otherwise a large one could never be
    /// sent.
    private func reserve(_ bytes: Int) -> Bool {
        let before = taken.wrappingAdd(bytes, ordering: .relaxed).oldValue
        guard before + bytes <= limit || before <= limit / 16 else {
            taken.wrappingSubtract(bytes, ordering: .relaxed)
            refused.increment()
            return false
        }
        meter.increment(by: Double(bytes))
        return true
    }

    /// The bytes reserved for one answer. They are released with its last reference.
    package final class Lease: CallAnswers {
        private let budget: AnswerBudget
        private let bytes: Atomic<Int>
        private let canBeRefused: Atomic<Bool>
        private let answered = Atomic<Int>(0)

        /// - Parameters:
        ///   - bytes: the initial number of bytes, added without checking the limit.
        ///   - isRefusable: false for a request that changes something, because its caller must learn the outcome.
        package init(_ budget: AnswerBudget, holding bytes: Int = 0, isRefusable: Bool = true) {
            self.budget = budget
            self.bytes = Atomic(bytes)
            canBeRefused = Atomic(isRefusable)
            budget.add(bytes)
        }

        deinit { budget.release(bytes.load(ordering: .relaxed)) }

        package var count: Int { bytes.load(ordering: .relaxed) }

        /// True if further responses may be refused.
        package var isRefusable: Bool {
            get { canBeRefused.load(ordering: .relaxed) }
            set { canBeRefused.store(newValue, ordering: .relaxed) }
        }

        /// Adds a service response, multiplied by ``AnswerBudget/unpackedFactor``.
        /// - Throws: `service_unavailable` if a refusable response exceeds the limit.
        package func answerReceived(byteCount count: Int) throws(Failure) {
            answered.wrappingAdd(count, ordering: .relaxed)
            let count = count * AnswerBudget.unpackedFactor
            if !isRefusable || self.count + count <= AnswerBudget.shortBytes {
                budget.add(count)
            } else if !budget.reserve(count) {
                throw .unavailable
            }
            bytes.wrappingAdd(count, ordering: .relaxed)
        }

        /// Returns the bytes of service responses since the previous call.
        package func takeAnswered() -> Int { answered.exchange(0, ordering: .relaxed) }

        /// Replaces the estimate with the actual number of bytes of rendered text.
        package func settle(to count: Int) { budget.add(count - bytes.exchange(count, ordering: .relaxed)) }
    }
}
