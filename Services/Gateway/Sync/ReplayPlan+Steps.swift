// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// What a catch-up does next. Reading, looking up and asking is up to its shell.
extension ReplayPlan {
    /// One step. If it fails, the value as it was before says the same again.
    enum Step {
        /// Read a page of these logs after these positions, take what of it is ``due(_:)``, send what ``decide(on:for:)`` says, then call ``finish(_:)``.
        case read([ConversationID: Position], userAfter: Position?)
        /// Subscribe to these as well, then ``owe(_:)`` them.
        case join([ConversationID])
        /// Nothing in the log shows these: look them up.
        case show([ConversationID])
        /// Tell the fan-out where the reading ended, and ask how far it is; if then ``isEverythingRead``, attach the socket, all on its loop.
        case compare([(id: ConversationID, position: Position)], user: Position?)
    }

    /// - Parameter joined: the conversations whose channels this catch-up has subscribed to.
    mutating func nextStep(joined: [ConversationID]) -> Step {
        guard isEverythingRead else {
            admitWaiting()
            return .read(owedCursors, userAfter: userPosition)
        }
        // The user was added again to conversations that they had left when this began.
        let new = members.filter { !joined.contains($0) }
        if !new.isEmpty { return .join(new) }
        let unshown = unshown
        if !unshown.isEmpty { return .show(unshown) }
        // What the fan-out does not follow yet may have moved between the baseline and the subscription.
        let unverified = takeUnverified()
        if !unverified.isEmpty {
            owe(unverified)
            return .read(owedCursors, userAfter: userPosition)
        }
        return .compare(memberPositions, user: userPosition)
    }

    // MARK: What a change of the log means to the client

    /// What to tell because of a change.
    enum Telling {
        case nothing
        case change
        /// Look the conversation up; if it can be seen, show it whole and call ``shown(_:)``. Then call ``tells(afterLookUp:by:)``.
        case lookUp
    }

    /// A change of a conversation was read: decides what the client is told of it.
    mutating func decide(on change: Change, for user: UserID) -> Telling {
        let id = change.conversationID
        if let begin, change.createdAt < begin { return .nothing }
        if isSetAside(id) {
            // That it ended for the user is told all the same: the client may know it from the answer to a request.
            guard change.excludes(user) else { return .nothing }
            left(id)
            return .change
        }
        if change.introduces(user) {
            if isContained(change) { return !needsShowing(id) && tellsWhoCame(change) ? .change : .nothing }
            mustBeShown(id)
            return .lookUp
        }
        if isGone(id) {
            if change.excludes(user) { left(id) }
            guard case .messageCreated(_, _, _?) = change.content else { return .nothing }
            returns(id)
        }
        if needsShowing(id) { return .lookUp }
        return tells(change, by: user) ? .change : .nothing
    }

    /// Whether ``decide(on:for:)`` would say ``Telling/lookUp``, as far as is known before.
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

    /// The conversation was looked up because of this change, and shown if it could be.
    /// - Returns: whether the change itself is told as well.
    mutating func tells(afterLookUp change: Change, by user: UserID) -> Bool {
        if change.introduces(user) { return false }
        guard needsShowing(change.conversationID) else { return tells(change, by: user) }
        // The user cannot see it at present: what made it so is further on in this log or in the user's own. The client is told all the same that the
        // conversation ended for the user: it may know the conversation from the answer to a request.
        guard change.excludes(user) else { return false }
        left(change.conversationID)
        return true
    }

    private mutating func tells(_ change: Change, by user: UserID) -> Bool {
        let id = change.conversationID
        switch change.content {
        case .conversationCreated: break
        case .participantsChanged(_, let removed, _, _):
            if isContained(change) { return tellsWhoCame(change) }
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

    /// Whether a change that is contained in what the client was shown is told nevertheless: if users were added, the socket's own user too.
    private func tellsWhoCame(_ change: Change) -> Bool {
        if case .participantsChanged(let added, _, _, _) = change.content { !added.isEmpty } else { false }
    }
}

extension Change {
    /// Whether this is how `user` came to the conversation.
    func introduces(_ user: UserID) -> Bool {
        switch content {
        case .conversationCreated: true
        case .participantsChanged(let added, _, _, _): added.contains { $0.userID == user }
        default: false
        }
    }

    /// Whether `user` has no part in the conversation any more because of it.
    func excludes(_ user: UserID) -> Bool {
        switch content {
        case .participantsChanged(_, let removed, _, _): removed.contains(user)
        case .conversationDeleted: true
        default: false
        }
    }
}
