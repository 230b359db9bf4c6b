// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import Metrics
package import StrataModel
import Synchronization

/// The bytes of everything on its way out of this process: answers of services that are being made into answers of our own, texts that wait for slow clients,
/// and what connections were given and have not sent yet.
///
/// What is short is never refused, since its number is bounded by that of connections; it counts all the same. What is long is refused before anything of it
/// was sent. Then, and when more than three quarters are in use, a client that takes nothing has less time (``ResponseGuard``).
package final class AnswerBudget: Sendable {
    /// As much of each answer is held whatever else is.
    package static let shortBytes = 64 << 10
    /// An answer of a service takes about so many times its bytes until it is text: as it came, taken apart, and as text that grows.
    package static let unpackedFactor = 3

    let limit: Int
    private let taken = Atomic<Int>(0)
    private let meter = Meter(label: "strata_gateway_answer_bytes")
    private let refused = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "answer_bytes")])

    package init(limit: Int) { self.limit = limit }

    /// Bytes held now.
    package var inUse: Int { taken.load(ordering: .relaxed) }
    /// Whether there is so little left that no client may hold much for long.
    package var isTight: Bool { inUse > limit / 4 * 3 }
    /// Whether so much more would be too much.
    package func isExceeded(by bytes: Int) -> Bool { inUse + bytes > limit }

    /// Held without asking: it is there, and only has to leave.
    package func add(_ bytes: Int) {
        guard bytes != 0 else { return }
        taken.wrappingAdd(bytes, ordering: .relaxed)
        meter.increment(by: Double(bytes))
    }

    /// They are not held any more.
    package func give(_ bytes: Int) { add(-bytes) }

    /// False: they are too many beside those that are held. Where next to nothing is, anything is taken, or it never would be.
    private func take(_ bytes: Int) -> Bool {
        let before = taken.wrappingAdd(bytes, ordering: .relaxed).oldValue
        guard before + bytes <= limit || before <= limit / 16 else {
            taken.wrappingSubtract(bytes, ordering: .relaxed)
            refused.increment()
            return false
        }
        meter.increment(by: Double(bytes))
        return true
    }

    /// What one answer holds; given back when nothing refers to it any more.
    package final class Lease: CallAnswers {
        private let budget: AnswerBudget
        private let bytes: Atomic<Int>
        private let canBeRefused: Atomic<Bool>
        private let answered = Atomic<Int>(0)

        /// - Parameters:
        ///   - bytes: that are there already.
        ///   - isRefusable: false: something is being changed, and who asked for it has to hear that.
        package init(_ budget: AnswerBudget, holding bytes: Int = 0, isRefusable: Bool = true) {
            self.budget = budget
            self.bytes = Atomic(bytes)
            canBeRefused = Atomic(isRefusable)
            budget.add(bytes)
        }

        deinit { budget.give(bytes.load(ordering: .relaxed)) }

        package var count: Int { bytes.load(ordering: .relaxed) }

        /// Whether what comes from now on may be refused.
        package var isRefusable: Bool {
            get { canBeRefused.load(ordering: .relaxed) }
            set { canBeRefused.store(newValue, ordering: .relaxed) }
        }

        /// An answer of a service has come.
        /// - Throws: `service_unavailable` if there is no room for it.
        package func answerReceived(byteCount count: Int) throws(Failure) {
            answered.wrappingAdd(count, ordering: .relaxed)
            let count = count * AnswerBudget.unpackedFactor
            if !isRefusable || self.count + count <= AnswerBudget.shortBytes {
                budget.add(count)
            } else if !budget.take(count) {
                throw .unavailable
            }
            bytes.wrappingAdd(count, ordering: .relaxed)
        }

        /// What services have answered since this was asked last.
        package func takeAnswered() -> Int { answered.exchange(0, ordering: .relaxed) }

        /// What came has become so many bytes of text.
        package func settle(to count: Int) { budget.add(count - bytes.exchange(count, ordering: .relaxed)) }
    }
}
