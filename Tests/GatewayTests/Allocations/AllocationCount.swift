// SPDX-License-Identifier: Apache-2.0
import CAllocationCounter
import Foundation

/// The number of heap allocations that an operation makes on the thread that carries it out.
enum AllocationCount {
    /// True if this build counts allocations.
    static var isAvailable: Bool { strata_counts_allocations() }

    #if DEBUG
    static let isDebugBuild = true
    #else
    static let isDebugBuild = false
    #endif

    /// The number of allocations that the calling thread has made.
    static var current: UInt64 { strata_allocations() }

    /// The number of calls before the count begins, and of counted calls.
    static let runs = 100

    /// Returns the mean number of allocations in ``runs`` calls of an operation. As many calls come first, which fill
    /// caches and buffers.
    /// - Parameter operation: An operation that receives the number of the call, from 0 to 2 × ``runs`` - 1.
    static func mean(of operation: (Int) throws -> Void) rethrows -> Double {
        for run in 0..<runs { try operation(run) }
        let before = current
        for run in runs..<2 * runs { try operation(run) }
        return Double(current - before) / Double(runs)
    }

    /// Runs `body` on a thread of its own. Tests run in tasks, whose threads can change at each `await`.
    static func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
