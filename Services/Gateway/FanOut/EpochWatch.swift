// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// Tracks the epoch: the history of the database that this gateway follows.
///
/// The epoch changes when the database is restored to an older state, or when a replica takes over that lacks recent
/// changes. Positions then move back and come to mean other changes.
///
/// Service responses decide which epoch applies. Publications only cause a check, because a service that is still
/// connected to the previous database can send some of another epoch.
struct EpochWatch {
    enum Verdict: Equatable {
        /// The response belongs to the current epoch.
        case follow
        /// A new epoch applies. Every sequence starts from the beginning, and all clients of the previous epoch must
        /// reconnect.
        case startAnew
        /// The response belongs to an epoch that has ended.
        case ignore
    }

    /// The period after which an older epoch is accepted, if every response in it names an older epoch. The operator
    /// has then restored it.
    ///
    /// A shorter period would accept responses of a service that is still connected to the previous database.
    static let patience = TimeAmount.seconds(30)

    /// The current epoch. nil before the first response that names one.
    private(set) var current: String?
    /// The number of epoch changes.
    private(set) var era = 0
    /// True after the first response with heads, even if the service is too old to name an epoch.
    private(set) var hasAnswer = false
    /// The time since which all responses have named an older epoch.
    private var contradictedSince: NIODeadline?

    /// Evaluates the epoch of a response with heads. An empty epoch means that the service did not name one.
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

    /// Forgets contradicting responses, because no heads are requested for now.
    mutating func lastSocketClosed() { contradictedSince = nil }

    /// Returns true if a publication belongs to another epoch than the current one.
    func isForeign(_ epoch: String) -> Bool {
        guard let current, !epoch.isEmpty else { return false }
        return epoch != current
    }

    /// Returns true if `epoch` is newer than `other`. An epoch begins with its start time. Epochs from before migration
    /// 32 do not; they are shorter, and older than all others.
    private static func isNewer(_ epoch: String, than other: String) -> Bool {
        (epoch.utf8.count, epoch) > (other.utf8.count, other)
    }
}
