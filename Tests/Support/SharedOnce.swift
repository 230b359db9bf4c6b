// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that is created on first use. Concurrent callers wait for it, and all callers get the same value or the same
/// error.
///
/// Cancelling the first caller does not cancel the creation, because other callers may wait for it.
final class SharedOnce<Value: Sendable>: Sendable {
    private let make: @Sendable () async throws -> Value
    private let task = Mutex<Task<Value, any Error>?>(nil)

    init(_ make: @escaping @Sendable () async throws -> Value) {
        self.make = make
    }

    func value() async throws -> Value {
        let making = task.withLock { task in
            if let task { return task }
            let make = make
            let new = Task { try await make() }
            task = new
            return new
        }
        return try await making.value
    }
}
