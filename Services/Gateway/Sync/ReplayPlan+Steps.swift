// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The steps of a catch-up. The driver performs reads, look-ups and requests.
extension ReplayPlan {
    /// A step of a catch-up. If it fails, the earlier plan returns the same step again.
    enum Step {
        /// Reads a page of these logs after these positions. The driver takes the ``due(_:)`` entries, sends according
        /// to ``decide(on:for:)``, then calls ``finish(_:)``.
        case read([ConversationID: Position], userAfter: Position?)
        /// Subscribes to more conversations; then ``scheduleRead(of:)`` schedules them.
        case join([ConversationID])
        /// Looks up conversations that no entry of the log shows.
        case show([ConversationID])
        /// Reports the end positions of the reading to the fan-out and requests its positions. If ``isEverythingRead``
        /// still holds, attaches the socket. All of this happens on its loop.
        case reportPositions([(id: ConversationID, position: Position)], user: Position?)
    }

    /// Returns the next step.
    /// - Parameter joined: the conversations whose channels this catch-up has subscribed to.
    mutating func nextStep(joined: Set<ConversationID>) -> Step {
        guard isEverythingRead else {
            admitWaiting()
            return .read(pendingCursors, userAfter: userPosition)
        }
        // Conversations that were not on the user's list at the beginning: the user had deleted them from their
        // devices, or was added since. They may have changed between the baseline and the subscription.
        let new = members(except: joined)
        if !new.isEmpty { return .join(new) }
        let unshown = unshown
        if !unshown.isEmpty { return .show(unshown) }
        return .reportPositions(memberPositions, user: userPosition)
    }

    // MARK: Effect of a change on the client

    /// The data to send for a change.
    enum Decision {
        case nothing
        case change
        /// The conversation in full. The catch-up looks it up; if it is visible, the catch-up sends it and calls
        /// ``shown(_:)``. Then it calls ``shouldSend(afterLookUp:by:)``.
        case lookUp
    }

    /// Decides what the client is sent for a change that was read.
    mutating func decide(on change: Change, for user: UserID) -> Decision {
        let id = change.conversationID
        if let begin, change.createdAt < begin { return .nothing }
        if isSetAside(id) {
            // The end of the user's participation is sent even so: the client may know the conversation from the answer
            // to a request.
            guard change.excludes(user) else { return .nothing }
            left(id)
            return .change
        }
        if change.introduces(user) {
            if isContained(change) { return !needsShowing(id) && sendsAddedUsers(change) ? .change : .nothing }
            mustBeShown(id)
            return .lookUp
        }
        if isGone(id) {
            if change.excludes(user) { left(id) }
            guard case .messageCreated(_, _, _?) = change.content else { return .nothing }
            returns(id)
        }
        if needsShowing(id) { return .lookUp }
        return shouldSend(change, by: user) ? .change : .nothing
    }

    /// True if ``decide(on:for:)`` would return ``Decision/lookUp``, according to the current state.
    func needsLookUp(_ change: Change, by user: UserID) -> Bool {
        let id = change.conversationID
        if let begin, change.createdAt < begin { return false }
        if isSetAside(id) { return false }
        if change.introduces(user) { return !isContained(change) }
        if isGone(id) {
            guard case .messageCreated(_, _, _?) = change.content else { return false }
            return true
        }
        return needsShowing(id)
    }

    /// Handles a change after its conversation was looked up, and sent if it could be.
    /// - Returns: true if the change itself is sent as well.
    mutating func shouldSend(afterLookUp change: Change, by user: UserID) -> Bool {
        if change.introduces(user) { return false }
        guard needsShowing(change.conversationID) else { return shouldSend(change, by: user) }
        // The conversation is not visible to the user at present; the reason is further on in this log or in the user's
        // own.
        // The end of the user's participation is sent even so: the client may know the conversation from the answer to
        // a request.
        guard change.excludes(user) else { return false }
        left(change.conversationID)
        return true
    }

    /// Applies a change to the plan.
    /// - Returns: true if the change is sent.
    private mutating func shouldSend(_ change: Change, by user: UserID) -> Bool {
        let id = change.conversationID
        switch change.content {
        case .conversationCreated: break
        case .participantsChanged(_, let removed, _, _):
            if isContained(change) { return sendsAddedUsers(change) }
            if removed.contains(user) { left(id) }
        case .metadataChanged:
            if isContained(change) { return false }
        case .conversationDeleted: left(id)
        case .messageCreated(_, _, let message):
            if message == nil { return false }
            countsChanged(in: id)
        case .messageDeleted, .receipts, .allRead: countsChanged(in: id)
        case .partsChanged(_, _, _, let message): if message == nil { return false }
        }
        return true
    }

    /// True if a change is sent although the client's view contains it: it added users, possibly the socket's own user.
    private func sendsAddedUsers(_ change: Change) -> Bool {
        if case .participantsChanged(let added, _, _, _) = change.content { !added.isEmpty } else { false }
    }
}

extension Change {
    /// True if this change made `user` a participant.
    func introduces(_ user: UserID) -> Bool {
        switch content {
        case .conversationCreated: true
        case .participantsChanged(let added, _, _, _): added.contains { $0.userID == user }
        default: false
        }
    }

    /// True if this change ended the participation of `user`.
    func excludes(_ user: UserID) -> Bool {
        switch content {
        case .participantsChanged(_, let removed, _, _): removed.contains(user)
        case .conversationDeleted: true
        default: false
        }
    }
}

/// Deferring conversations of a page.
///
/// Strangers can add a user to any number of conversations with large metadata trees. A client does not know such a
/// conversation until it is sent in full. So it is sent after the conversations that the client knows. The order within
/// a conversation is kept.
extension ReplayPlan {
    /// Releases all deferred conversations if the user's own log has an entry about one of them. The client must be
    /// sent that conversation before the entry.
    mutating func releaseWhatIsNamed(in page: LogPage) {
        let isNamed = page.entries.contains { entry in entry.touched.map { isDeferred($0) } ?? false }
        if isNamed { releaseDeferred() }
    }

    /// Returns the page without the entries of conversations that would have to be looked up, from the first such
    /// change on. These conversations are deferred, each at most once, provided that others are sent before them.
    mutating func deferConversations(from page: LogPage, for user: UserID) -> LogPage {
        var behind: [ConversationID: Timestamp] = [:]
        var ahead: [LogPage.Entry] = []
        var hasOthers = false
        for entry in page.entries {
            if let id = entry.conversation, behind[id] != nil { continue }
            if case .change(let change) = entry {
                if canDefer(change.conversationID), needsLookUp(change, by: user) {
                    behind[change.conversationID] = change.createdAt
                    continue
                }
                hasOthers = hasOthers || !behind.isEmpty
            }
            // An entry about the user's action in a conversation must follow the conversation's changes.
            if let touched = entry.touched, behind[touched] != nil { return page }
            ahead.append(entry)
        }
        guard !behind.isEmpty, hasOthers || !page.reachesHeads && isReading(besides: behind.keys) else { return page }
        for (id, time) in behind { deferConversation(id, since: time) }
        return LogPage(entries: ahead, reachesHeads: page.reachesHeads, counts: page.counts)
    }
}

extension LogPage.Entry {
    /// The conversation whose log contains the entry; nil for the user's own log.
    fileprivate var conversation: ConversationID? {
        switch self {
        case .change(let change): change.conversationID
        case .skipped(let id, _): id
        case .userChange: nil
        }
    }

    /// The conversation in which the user deleted something from their devices, or which the user brought back.
    fileprivate var touched: ConversationID? {
        guard case .userChange(let change) = self else { return nil }
        return switch change.content {
        case .conversationHidden(let id, _, _): id
        case .conversationShown(let view?), .messageHidden(_, let view?), .messagesHidden(_, let view):
            view.conversation.id
        default: nil
        }
    }
}
