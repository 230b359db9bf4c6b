// SPDX-License-Identifier: Apache-2.0

/// What one look at a shard found.
enum SweepFinding: Sendable, Equatable {
    /// Nothing is due; the time until something will be, nil if there is nothing.
    case nothing(next: Duration?)
    /// Something was due, and was ended. `lateness`: of the most overdue. `isBatchFull`: there may be more.
    case work(lateness: Duration, isBatchFull: Bool = false)
    /// Redis did not answer, or not all that was due could be done.
    case failed
}
