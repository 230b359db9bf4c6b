// SPDX-License-Identifier: Apache-2.0

/// The result of sweeping one shard.
enum SweepFinding: Sendable, Equatable {
    /// Nothing is due. `next`: the time until the next deadline, or nil if there is none.
    case nothing(next: Duration?)
    /// Due entries were ended. `lateness`: that of the most overdue entry. `isBatchFull`: true if more entries may be
    /// due.
    case work(lateness: Duration, isBatchFull: Bool = false)
    /// Redis did not answer, or some due entries could not be ended.
    case failed
}
