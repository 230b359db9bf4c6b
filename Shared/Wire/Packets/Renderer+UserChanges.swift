// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Returns the packets that report an entry of a user's own log to the user's sockets. They have the extension
    /// member `user_position` and no gaps.
    ///
    /// - Parameter withLastMessage: true to include the last message after a deletion. False if a newer last message
    ///   was already sent.
    public func tails(for change: UserChange, version: WireVersion, withLastMessage: Bool = true) -> [PacketTail] {
        switch change.content {
        case .conversationHidden(let id, let upTo, let wholly):
            return [
                conversationDeleted(id, at: .user(change.position), mode: .myDevices, fromPosition: wholly ? nil : upTo)
            ]
        case .conversationShown(let view):
            return view.map { conversationCreated($0, for: change.user, version: version, at: .user(change.position)) }
                ?? []
        case .messageHidden(let id, let view):
            let delete = messageDeleted(id, in: view?.conversation.id, at: .user(change.position), mode: .myDevices)
            return [delete]
                + (view.map { contents(of: $0, withLastMessage: withLastMessage, change: change, version: version) }
                    ?? [])
        case .messagesHidden(let upTo, let view):
            let delete = conversationDeleted(
                view.conversation.id, at: .user(change.position), mode: .myDevices, fromPosition: upTo)
            // Newer messages remain, so the last message changes only if none remains.
            let tellsLast = withLastMessage && view.lastMessage == nil
            return [delete] + contents(of: view, withLastMessage: tellsLast, change: change, version: version)
        case .messageDeleted(let id, let conversation, let view):
            let delete = messageDeleted(id, in: conversation, at: .user(change.position), mode: .allParticipants)
            return [delete]
                + (view.map { contents(of: $0, withLastMessage: withLastMessage, change: change, version: version) }
                    ?? [])
        case .conversationDeleted(let id):
            return [conversationDeleted(id, at: .user(change.position), mode: .allParticipants, fromPosition: nil)]
        case .identityChanged(let identity): return [identityUpdated(identity, at: .user(change.position))]
        case .followed(let identity): return [identityFollowed(identity, at: change.position)]
        case .unfollowed(let user): return [identityUnfollowed(user, at: change.position)]
        case .announced(let announcement): return [announcementCreated(announcement, change: change, version: version)]
        case .announcementStatus(let id, let status): return [announcementStatusChanged(id, to: status, change: change)]
        case .announcementDeleted(let id): return [announcementDeleted(id, at: change.position)]
        case .blocksChanged(let blocked, let unblocked):
            return blocked.map { blockChanged($0, isBlocked: true, at: change.position) }
                + unblocked.map { blockChanged($0, isBlocked: false, at: change.position) }
        // Blocked users must not learn of the block.
        case .blockedBy: return []
        case .obsolete: return []
        }
    }

    /// Returns a packet that sets a property of the other user's identity. Clients that do not know the property ignore
    /// it.
    private func blockChanged(_ user: UserID, isBlocked: Bool, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .identity(user), at: .user(position))
        packet.writer.beginArray()
        packet.beginOperation("set", on: "blocked")
        packet.writer.key("value")
        packet.writer.bool(isBlocked)
        packet.endOperation()
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func identityFollowed(_ identity: Identity, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("create", of: .identity(identity.basic.userID), at: .user(position))
        writeIdentity(identity, into: &packet.writer)
        return packet.finish(.change)
    }

    private func identityUnfollowed(_ user: UserID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", of: .identity(user), at: .user(position))
        packet.writer.null()
        return packet.finish(.change)
    }

    private func announcementCreated(
        _ announcement: Announcement, change: UserChange, version: WireVersion
    ) -> PacketTail {
        var packet = PacketBuilder(self, capacity: 1024)
        packet.beginChange("create", of: .announcement(announcement.id), at: .user(change.position))
        writeAnnouncement(
            announcement, for: change.user, version: version, withNotification: true, into: &packet.writer)
        return packet.finish(.change)
    }

    private func announcementStatusChanged(
        _ id: AnnouncementID, to status: RecipientStatus, change: UserChange
    ) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .announcement(id), at: .user(change.position))
        packet.writer.beginArray()
        packet.setStatus(status, of: change.user)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func announcementDeleted(_ id: AnnouncementID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", of: .announcement(id), at: .user(position))
        packet.writer.beginObject()
        packet.writer.key("mode")
        packet.writer.string(DeletionMode.myDevices.rawValue)
        packet.writer.endObject()
        return packet.finish(.change)
    }

    /// Returns an update of a conversation's last message and counts after the deletion of messages.
    private func contents(
        of view: ConversationView, withLastMessage: Bool, change: UserChange, version: WireVersion
    ) -> [PacketTail] {
        var further: [PacketTail] = []
        var update = PacketBuilder(self, capacity: 1024)
        update.beginChange("update", of: .conversation(view.conversation.id), at: .user(change.position))
        update.writer.beginArray()
        if !withLastMessage {
            // The last message was already sent.
        } else if var message = view.lastMessage {
            if let portion = portion(of: message, version: version) {
                further = rest(of: message, after: portion, at: .user(change.position))
                message = portion
            }
            update.beginOperation("set", on: "last_message")
            update.writer.key("id")
            update.writer.messageID(message.id)
            update.writer.key("value")
            writeMessage(message, for: change.user, version: version, into: &update.writer)
            update.endOperation()
        } else {
            setNoLastMessage(in: &update)
        }
        update.beginOperation("set", on: "unread_message_count")
        update.writer.key("value")
        update.writer.int(view.unreadCount)
        update.endOperation()
        update.beginOperation("set", on: "total_message_count")
        update.writer.key("value")
        update.writer.int(view.totalCount)
        update.endOperation()
        update.writer.endArray()
        return [update.finish(.change)] + further
    }
}
