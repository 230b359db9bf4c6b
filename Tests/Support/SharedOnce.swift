// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value made by the first who asks; those who ask meanwhile wait for it, and all get the same one, or the same error.
///
/// Making it goes on if the one who asked first is cancelled: the others still want it.
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
