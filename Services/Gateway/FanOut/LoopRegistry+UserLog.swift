// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire

/// Delivery of entries of users' own logs to the sockets of this loop.
///
/// A user's own log and the logs of the user's conversations are ordered only by commit. An entry about a conversation
/// is deferred until the socket has received all changes of the conversation that the entry presupposes. If the socket
/// has received later changes by then, the packet shows the current state, not the state at the time of the entry.
extension LoopRegistry {
    /// Delivers an entry of a user's own log. Entries arrive in order of position.
    func deliverUserChange(_ change: UserChange, to key: UserKey) {
        guard let user = userSockets[key] else { return }
        user.cursor.advance(to: change.position)
        switch change.content {
        case .identityChanged(let identity), .followed(let identity): services.remember(identity.basic, in: key.app)
        case .blocksChanged, .blockedBy: blocksChanged(change, of: key)
        default: break
        }
        for socket in user.sockets {
            let registration = socket.registration
            guard let last = registration.userPosition, change.position > last else { continue }
            registration.userPosition = change.position
            if registration.deferredUserChanges.isEmpty, isDue(change, for: socket) {
                send(change, to: socket)
            } else {
                deferUntilDue(change, for: socket)
            }
        }
    }

    private func deferUntilDue(_ change: UserChange, for socket: any RegisteredSocket) {
        if socket.registration.deferredUserChanges.isEmpty { deferring.sockets.append(socket) }
        socket.registration.deferredUserChanges.append(change)
        guard let (id, position) = change.presupposes, conversations[id] != nil else { return }
        fanOut.expect(position, of: id, since: change.createdAt)
    }

    /// Sends the deferred entries whose prerequisites have been met since the last call.
    package func flushDeferred() {
        guard !deferring.sockets.isEmpty, !deferring.isSending else { return }
        deferring.isSending = true
        defer { deferring.isSending = false }
        var index = 0
        while index < deferring.sockets.count {
            let socket = deferring.sockets[index]
            let registration = socket.registration
            while let change = registration.deferredUserChanges.first, isDue(change, for: socket) {
                registration.deferredUserChanges.removeFirst()
                send(change, to: socket)
            }
            if registration.deferredUserChanges.isEmpty { deferring.sockets.remove(at: index) } else { index += 1 }
        }
    }

    /// Returns true if the socket has been sent all changes that the entry presupposes.
    private func isDue(_ change: UserChange, for socket: any RegisteredSocket) -> Bool {
        if change.deletesConversation, socket.isCreatingConversation { return false }
        // The socket must first have learned that the user left the conversation.
        if case .conversationDeleted(let id) = change.content {
            return place(of: socket, in: id) == nil && !socket.membership.awaits(id)
        }
        guard let (id, position) = change.presupposes else { return true }
        guard let (conversation, index) = place(of: socket, in: id) else { return !socket.membership.awaits(id) }
        // While the counts are unknown, they cannot be sent.
        return max(conversation.last, conversation.members[index].skip) >= position
            && !conversation.members[index].countState.isPending
    }

    /// Returns the conversation and the socket's index in it; nil if the socket is not attached to it.
    private func place(
        of socket: any RegisteredSocket, in id: ConversationID
    ) -> (conversation: LocalConversation, index: Int)? {
        guard let conversation = conversations[id],
            let index = conversation.members.firstIndex(where: { $0.socket === socket })
        else { return nil }
        return (conversation, index)
    }

    // MARK: Sending

    private func send(_ change: UserChange, to socket: any RegisteredSocket) {
        switch change.content {
        case .conversationHidden(let id, let upTo, _): sendDeletion(id, upTo: upTo, by: change, to: socket)
        case .conversationShown(let view?): sendRestoration(view, by: change, to: socket)
        case .messageHidden(let id, let view?): send(change, about: view, to: socket) { .messageHidden(id, view: $0) }
        case .messagesHidden(let upTo, let view):
            send(change, about: view, to: socket) { .messagesHidden(upTo: upTo, view: $0) }
        case .messageDeleted(let id, let conversation, let view?):
            send(change, about: view, to: socket) { .messageDeleted(id, in: conversation, view: $0) }
        case .followed(let identity):
            sendUserChange(change, to: socket)
            watchPresence(of: [identity.basic], by: socket)
        case .unfollowed(let user):
            sendUserChange(change, to: socket)
            unwatch(UserKey(app: socket.registration.key.app, user: user), by: socket)
        default: sendUserChange(change, to: socket)
        }
    }

    private func sendUserChange(_ change: UserChange, to socket: any RegisteredSocket, withLastMessage: Bool = true) {
        let registration = socket.registration
        let tails = output.renderer.tails(for: change, version: registration.version, withLastMessage: withLastMessage)
        socket.send(
            Rendering(tails, in: output.budget),
            values: ReaderValues(reader: registration.key.user, unread: 0, total: 0),
            stamp: stamp(atLeast: change.createdAt))
    }

    private func sendDeletion(
        _ id: ConversationID, upTo: Position, by change: UserChange, to socket: any RegisteredSocket
    ) {
        var change = change
        guard let (conversation, index) = place(of: socket, in: id) else {
            guard let left = socket.membership.departures[id], left.seenUpTo > upTo else {
                return sendUserChange(change, to: socket)
            }
            // The user left after the deletion, and after a message that had brought the conversation back. They
            // keep what followed the deletion, but the socket received it with older counts. It receives a complete
            // deletion, then the kept part and its conversation again, read from the log.
            change.content = .conversationHidden(id, upTo: upTo, wholly: true)
            sendUserChange(change, to: socket)
            return socket.membershipChanged(.returns(id, after: upTo))
        }
        let member = conversation.members[index]
        if member.skip > upTo, !member.isHidden {
            // The conversation had come back when the catch-up read it. The client keeps it, with everything since
            // the deletion.
            change.content = .conversationHidden(id, upTo: upTo, wholly: false)
            return sendUserChange(change, to: socket)
        }
        change.content = .conversationHidden(id, upTo: upTo, wholly: true)
        sendUserChange(change, to: socket)
        if conversation.lastMessages.newest(of: change.user) > upTo {
            // A message from after the deletion was delivered before this entry, which removes it. The socket
            // receives the message and the conversation again, read from the log.
            leave(socket, from: conversation, at: upTo)
            socket.membershipChanged(.returns(id, after: upTo))
        } else {
            conversation.members[index].isHidden = true
            conversation.members[index].hiddenUpTo = upTo
        }
    }

    private func sendRestoration(_ view: ConversationView, by change: UserChange, to socket: any RegisteredSocket) {
        let id = view.conversation.id
        guard let (conversation, index) = place(of: socket, in: id) else {
            var change = change
            // The user left afterwards and was not notified, because the conversation was hidden.
            if let left = socket.membership.departures[id] { change.content = .conversationShown(left.after(view)) }
            return sendUserChange(change, to: socket)
        }
        guard conversation.members[index].isHidden else { return }
        let sentUpTo = max(conversation.last, conversation.members[index].skip)
        if sentUpTo > view.conversation.position {
            // The user has not seen later changes. A catch-up sends the conversation in its current state.
            leave(socket, from: conversation, at: sentUpTo)
            socket.membershipChanged(.returns(id, after: sentUpTo))
        } else {
            sendUserChange(change, to: socket)
            conversation.members[index].isHidden = false
            conversation.members[index].countState.take(view.counts)
        }
    }

    /// Sends an entry that removes messages, with the remaining state of their conversation.
    /// - Parameter content: makes the content of the packet from the conversation as the client must see it.
    private func send(
        _ change: UserChange, about view: ConversationView, to socket: any RegisteredSocket,
        content: (ConversationView) -> UserChange.Content
    ) {
        let position = view.conversation.position
        var change = change
        guard let (conversation, index) = place(of: socket, in: view.conversation.id) else {
            guard let left = socket.membership.departures[view.conversation.id] else {
                return sendUserChange(change, to: socket)
            }
            // The user left afterwards and was notified. They keep the state of the conversation at their departure.
            change.content = content(left.after(view))
            return sendUserChange(change, to: socket, withLastMessage: left.lastMessagePosition <= position)
        }
        conversation.members[index].countState.take(view.counts)
        let member = conversation.members[index]
        guard !member.isHidden else { return }
        var told = view
        if max(conversation.last, member.skip) > position {
            told.counts = member.counts
            told.messageCount = max(conversation.messageCount, view.messageCount)
        }
        change.content = content(told)
        // The client may already have received a newer last message.
        sendUserChange(
            change, to: socket,
            withLastMessage: max(conversation.lastMessages.lastUpdate(for: change.user), member.skip) <= position)
    }
}

extension UserChange {
    /// True if the entry removes a conversation for the user.
    ///
    /// A conversation that a socket has just created can be removed by a faster request before its create is answered.
    /// An answer after the deletion would bring the conversation back for the client.
    fileprivate var deletesConversation: Bool {
        switch content {
        case .conversationHidden, .conversationDeleted: true
        default: false
        }
    }

    /// The conversation of the entry, and the position up to which its changes must be sent first.
    fileprivate var presupposes: (id: ConversationID, position: Position)? {
        switch content {
        case .conversationHidden(let id, let upTo, _): (id, upTo)
        case .conversationShown(let view?), .messageHidden(_, let view?), .messagesHidden(_, let view),
            .messageDeleted(_, _, let view?):
            (view.conversation.id, view.conversation.position)
        default: nil
        }
    }
}
