// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// Which history of the database this gateway follows.
///
/// After the database was restored to an older state, or a replica took over that had not heard of everything, positions go back and come to mean other
/// changes; the epoch then is another one. Answers of services decide which epoch counts. Publications only raise the question: some of another epoch may be
/// on their way from a service that is still connected to the database of before.
struct EpochWatch {
    /// What follows from an answer.
    enum Verdict: Equatable {
        /// It tells of the history that is followed.
        case follow
        /// Another history is followed from now on: every sequence starts anew, and all clients that were told the other one come back.
        case startAnew
        /// It tells of a history that has ended.
        case ignore
    }

    /// A service that is still connected to the database of before may answer beside others that are not. An older epoch counts only when every answer for so
    /// long was of it: then the operator has gone back.
    static let patience = TimeAmount.seconds(30)

    /// Nil before the first answer that named one.
    private(set) var current: String?
    /// How often another history came to be followed.
    private(set) var era = 0
    /// Heads were answered, by a service that may be too old to name an epoch.
    private(set) var hasAnswer = false
    /// Since when all answers have named an older epoch.
    private var contradictedSince: NIODeadline?

    /// Heads were answered by a database of this epoch; empty: it did not say.
    mutating func answered(_ epoch: String, at now: NIODeadline) -> Verdict {
        hasAnswer = true
        guard !epoch.isEmpty else { return .follow }
        guard let current, current != epoch else {
            current = epoch
            contradictedSince = nil
            return .follow
        }
        let since = contradictedSince ?? now
        guard Self.isNewer(epoch, than: current) || now - since > Self.patience else {
            contradictedSince = since
            return .ignore
        }
        self.current = epoch
        contradictedSince = nil
        era += 1
        return .startAnew
    }

    /// Nothing is asked for the time being: what was answered before says nothing of the time until the next answer.
    mutating func slept() { contradictedSince = nil }

    /// Whether a publication tells of another history than the one that is followed.
    func isForeign(_ epoch: String) -> Bool {
        guard let current, !epoch.isEmpty else { return false }
        return epoch != current
    }

    /// Epochs begin with the time at which they began. Those of before migration 32 do not; they are shorter, and older than all others.
    private static func isNewer(_ epoch: String, than other: String) -> Bool {
        (epoch.utf8.count, epoch) > (other.utf8.count, other)
    }
}
