// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The numbers of one socket's user in one conversation, as far as a loop knows them, and whether the client still has to be told them.
///
/// A change that arrives by itself says which numbers it made; one that was read from the log does not. After the latter the numbers of the users
/// whose numbers it altered are unknown until they have been read: no packet tells a count that is older than the change it tells of. The client was told
/// the change without its counts then, and is owed one packet with both (``LoopRegistry/gapClosed(_:numbers:)``).
struct MemberNumbers {
    private(set) var known: UserNumbers
    /// The last change that altered the numbers and did not say how.
    private(set) var unknownUpTo = Position.zero
    /// The client was handed such a change, and has not been told both counts since.
    private(set) var isOwed = false

    init(_ known: UserNumbers) { self.known = known }

    /// Whether a count made of ``known`` is true.
    var areKnown: Bool { known.position >= unknownUpTo }

    /// Newer numbers replace older ones, whatever order they come in.
    mutating func take(_ new: UserNumbers) {
        if new.position >= known.position { known = new }
    }

    /// A change is handed to the socket of `user`.
    /// - Parameters:
    ///   - isFromLog: it was read from the log.
    ///   - isTold: the client is told of it; it is not while the conversation is hidden from it.
    mutating func handed(_ change: Change, isFromLog: Bool, to user: UserID, isTold: Bool) {
        if let new = change.numbers[user] { return take(new) }
        guard isFromLog, change.numbers.isEmpty, change.altersNumbers(of: user) else { return }
        unknownUpTo = change.position
        if isTold { isOwed = true }
    }

    /// The client has been told both counts, or needs them no more.
    mutating func settled() { isOwed = false }
}

extension Change {
    /// Whether the numbers of `user` are others after it. The number of messages is no such number: every change carries it.
    fileprivate func altersNumbers(of user: UserID) -> Bool {
        switch content {
        // One that is hidden from a user counts as hidden from the beginning, and never as anything else.
        case .messageCreated: actor == user || hiddenFrom.contains(user)
        case .messageDeleted: !hiddenFrom.contains(user)
        case .receipts(let receipts): receipts.contains { $0.user == user && $0.status == .read }
        case .allRead(let reader, _, _): reader == user
        case .conversationCreated, .participantsChanged, .metadataChanged, .conversationDeleted, .partsChanged: false
        }
    }
}
