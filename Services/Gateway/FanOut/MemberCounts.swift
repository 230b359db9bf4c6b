// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A user's counts in one conversation as known to an event loop, and whether the client still lacks them.
///
/// A published change states the counts that it causes; a change read from the log does not. After the latter, the
/// counts of affected users are unknown until they are read. A packet never states counts older than its change. The
/// client receives such a change without counts, and later one packet with both
/// (``LoopRegistry/repairEnded(of:counts:)``).
struct MemberCounts {
    private(set) var known: UserCounts
    /// The position of the last change that altered the counts without stating them.
    private(set) var unknownUpTo = Position.zero
    /// True if the client has received such a change, and has not received both counts since.
    private(set) var isPending = false

    init(_ known: UserCounts) { self.known = known }

    /// True if ``known`` is up to date.
    var areCurrent: Bool { known.position >= unknownUpTo }

    /// Stores new counts. Older counts than the known ones are ignored.
    mutating func take(_ new: UserCounts) {
        if new.position >= known.position { known = new }
    }

    /// Updates the counts for a change delivered to a socket of `user`.
    /// - Parameters:
    ///   - isFromLog: true if the change was read from the log.
    ///   - isTold: true if the client receives the change. A client to which the conversation is hidden does not.
    mutating func apply(_ change: Change, isFromLog: Bool, to user: UserID, isTold: Bool) {
        if let new = change.counts[user] { return take(new) }
        guard isFromLog, change.counts.isEmpty, change.altersCounts(of: user) else { return }
        unknownUpTo = change.position
        if isTold { isPending = true }
    }

    /// Records that the client has received both counts, or no longer needs them.
    mutating func settled() { isPending = false }
}

extension Change {
    /// Returns true if the change alters the counts of `user`. The number of messages is not one of them: every change
    /// carries it.
    fileprivate func altersCounts(of user: UserID) -> Bool {
        switch content {
        // A message hidden from a user always counts as hidden, never as anything else.
        case .messageCreated: actor == user || hiddenFrom.contains(user)
        case .messageDeleted: !hiddenFrom.contains(user)
        case .receipts(let receipts): receipts.contains { $0.user == user && $0.status == .read }
        case .allRead(let reader, _, _): reader == user
        case .conversationCreated, .participantsChanged, .metadataChanged, .conversationDeleted, .partsChanged: false
        }
    }
}
