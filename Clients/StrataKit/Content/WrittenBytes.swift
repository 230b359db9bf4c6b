// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Counts the bytes of a file that are written, for a closure that writes them.
final class WrittenBytes: Sendable {
    private let state: Mutex<Int>

    init(_ count: Int) { state = Mutex(count) }

    var count: Int { state.withLock { $0 } }

    func set(_ count: Int) { state.withLock { $0 = count } }
}
