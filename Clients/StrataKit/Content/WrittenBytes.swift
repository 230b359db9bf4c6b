// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// A thread-safe counter of written bytes, shared with the closure that writes them.
final class WrittenBytes: Sendable {
    private let state: Mutex<Int>

    init(_ count: Int) { state = Mutex(count) }

    var count: Int { state.withLock { $0 } }

    func set(_ count: Int) { state.withLock { $0 = count } }
}
