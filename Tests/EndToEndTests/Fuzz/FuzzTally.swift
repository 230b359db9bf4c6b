// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Statistics of the fuzzers, and the failures that they found.
final class FuzzTally: Sendable {
    private struct State {
        var sent = 0
        var kinds: [String: Int] = [:]
        var failures: [String] = []
    }

    private let state = Mutex(State())

    func sent(_ count: Int = 1) { state.withLock { $0.sent += count } }
    func saw(_ kind: String) { state.withLock { $0.kinds[kind, default: 0] += 1 } }
    func fail(_ words: String) {
        state.withLock { state in
            state.kinds["FAILED", default: 0] += 1
            if state.failures.count < 40 { state.failures.append(words) }
        }
    }

    var count: Int { state.withLock { $0.sent } }
    var failures: [String] { state.withLock { $0.failures } }
    /// The counts by kind: `200: 17, 404: 3`.
    var summary: String {
        state.withLock { $0.kinds.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") }
    }
}
