// SPDX-License-Identifier: Apache-2.0

import Model
import NIOCore
import Wire

/// Entries of users' own logs, on their way to the sockets of this loop.
///
/// A user's own log and the logs of his conversations have no order between them but the one in which things were committed. An entry that says what
/// a conversation is to him therefore waits until the socket has been told all of that conversation that the entry presupposes; and where the socket has
/// been told more by then, it is told what holds now, not what held when the entry was made.
extension Hub {
    /// An entry of a user's own log, in order.
    func deliver(_ change: UserChange, to key: UserKey) {
        guard let resident = residents[key] else { return }
        resident.cursor.advance(to: change.position)
        switch change.content {
        case .identityChanged(let identity), .followed(let identity): services.identities.remember(identity.basic, in: key.app)
        default: break
        }
        for socket in resident.sockets {
            guard let last = socket.userPosition, change.position > last else { continue }
            socket.userPosition = change.position
            if socket.heldUserChanges.isEmpty, isDue(change, for: socket) {
                tell(change, to: socket)
            } else {
                hold(change, for: socket)
            }
        }
    }

    private func hold(_ change: UserChange, for socket: Socket) {
        if socket.heldUserChanges.isEmpty { holding.append(socket) }
        socket.heldUserChanges.append(change)
        guard let (id, position) = change.presupposes, rooms[id] != nil else { return }
        fanOut.expect(position, of: id, since: change.createdAt)
    }

    /// Something moved: tells what does not have to wait any longer.
    func tellHeld() {
        guard !holding.isEmpty, !isTellingHeld else { return }
        isTellingHeld = true
        defer { isTellingHeld = false }
        var index = 0
        while index < holding.count {
            let socket = holding[index]
            while let change = socket.heldUserChanges.first, isDue(change, for: socket) {
                socket.heldUserChanges.removeFirst()
                tell(change, to: socket)
            }
            if socket.heldUserChanges.isEmpty { holding.remove(at: index) } else { index += 1 }
        }
    }

    private func isDue(_ change: UserChange, for socket: Socket) -> Bool {
        guard let (id, position) = change.presupposes else { return true }
        guard let (room, index) = place(of: socket, in: id) else { return !socket.membership.awaits(id) }
        // While the numbers are unknown there are none to tell.
        return max(room.last, room.members[index].skip) >= position && !room.members[index].tracked.isOwed
    }

    private func place(of socket: Socket, in id: ConversationID) -> (room: Room, index: Int)? {
        guard let room = rooms[id], let index = room.members.firstIndex(where: { $0.socket === socket }) else { return nil }
        return (room, index)
    }

    // MARK: Telling

    private func tell(_ change: UserChange, to socket: Socket) {
        switch change.content {
        case .conversationHidden(let id, let upTo, _): tellHidden(id, upTo, change, socket)
        case .conversationShown(let view?): tellShown(view, change, socket)
        case .messageHidden(let id, let view?): tellHidden(id, view, change, socket)
        case .followed(let identity):
            send(change, to: socket)
            meet([identity.basic], socket)
        case .unfollowed(let user):
            send(change, to: socket)
            unwatch(UserKey(app: socket.key.app, user: user), by: socket)
        default: send(change, to: socket)
        }
    }

    private func send(_ change: UserChange, to socket: Socket, withLastMessage: Bool = true) {
        let tails = services.renderer.tails(for: change, version: socket.version, withLastMessage: withLastMessage)
        socket.send(tails, values: ReaderValues(reader: socket.key.user, unread: 0, total: 0), stamp: Stamp(.now()))
    }

    private func tellHidden(_ id: ConversationID, _ upTo: Position, _ change: UserChange, _ socket: Socket) {
        var change = change
        guard let (room, index) = place(of: socket, in: id) else {
            // He left after the deletion, and after what brought it back: what came since is his to keep.
            if let left = socket.membership.left[id], left.seenUpTo > upTo { change.content = .conversationHidden(id, upTo: upTo, wholly: false) }
            return send(change, to: socket)
        }
        let member = room.members[index]
        if member.skip > upTo, !member.isHidden {
            // It had come back when the catch-up read it: the client keeps it, and what came since.
            change.content = .conversationHidden(id, upTo: upTo, wholly: false)
            return send(change, to: socket)
        }
        change.content = .conversationHidden(id, upTo: upTo, wholly: true)
        send(change, to: socket)
        if room.lastMessage > upTo {
            // A message that came after the deletion overtook it: the socket was sent it, and has just been told to remove all. It gets it once more, with
            // the conversation, as from the log.
            leave(socket, room, at: upTo)
            socket.join([id: upTo])
        } else {
            room.members[index].isHidden = true
            room.members[index].hiddenUpTo = upTo
        }
    }

    private func tellShown(_ view: ConversationView, _ change: UserChange, _ socket: Socket) {
        let id = view.conversation.id
        guard let (room, index) = place(of: socket, in: id) else {
            var change = change
            // He left after that, which he was not told: it was hidden.
            if let left = socket.membership.left[id] { change.content = .conversationShown(left.after(view)) }
            return send(change, to: socket)
        }
        guard room.members[index].isHidden else { return }
        let told = max(room.last, room.members[index].skip)
        if told > view.conversation.position {
            // What came since was kept from him: a catch-up shows it as it is now.
            leave(socket, room, at: told)
            socket.join([id: told])
        } else {
            send(change, to: socket)
            room.members[index].isHidden = false
            room.members[index].tracked.take(view.numbers)
        }
    }

    private func tellHidden(_ message: MessageID, _ view: ConversationView, _ change: UserChange, _ socket: Socket) {
        let position = view.conversation.position
        var change = change
        guard let (room, index) = place(of: socket, in: view.conversation.id) else {
            guard let left = socket.membership.left[view.conversation.id] else { return send(change, to: socket) }
            // The user left after that, and was told so: they go on seeing it as of then.
            change.content = .messageHidden(message, view: left.after(view))
            return send(change, to: socket, withLastMessage: left.lastMessageTold <= position)
        }
        room.members[index].tracked.take(view.numbers)
        let member = room.members[index]
        guard !member.isHidden else { return }
        var told = view
        if max(room.last, member.skip) > position {
            told.numbers = member.numbers
            told.messageCount = max(room.messageCount, view.messageCount)
        }
        change.content = .messageHidden(message, view: told)
        // A newer last message has been told already.
        send(change, to: socket, withLastMessage: max(room.lastMessageTold, member.skip) <= position)
    }
}

extension UserChange {
    /// The conversation it concerns, and what of it has to be told before.
    fileprivate var presupposes: (id: ConversationID, position: Position)? {
        switch content {
        case .conversationHidden(let id, let upTo, _): (id, upTo)
        case .conversationShown(let view?), .messageHidden(_, let view?): (view.conversation.id, view.conversation.position)
        default: nil
        }
    }
}
