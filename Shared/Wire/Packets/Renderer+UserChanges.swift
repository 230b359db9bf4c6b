// SPDX-License-Identifier: Apache-2.0
public import Model

extension Renderer {
    /// The packets by which a user's own sockets are told of an entry of his own log. They carry our own `user_position`. No gaps are left.
    ///
    /// - Parameter withLastMessage: whether the deletion of a message tells the last message, too: not where a newer one has been told.
    public func tails(for change: UserChange, version: WireVersion, withLastMessage: Bool = true) -> [PacketTail] {
        switch change.content {
        case .conversationHidden(let id, let upTo, let wholly):
            return [conversationDeleted(id, at: .user(change.position), .myDevices, fromPosition: wholly ? nil : upTo)]
        case .conversationShown(let view):
            return view.map { [created($0, for: change.user, version: version, at: .user(change.position))] } ?? []
        case .messageHidden(let id, let view): return messageHidden(id, view, withLastMessage, change: change, version: version)
        case .identityChanged(let identity): return [updated(identity, at: .user(change.position))]
        case .followed(let identity): return [followed(identity, at: change.position)]
        case .unfollowed(let user): return [unfollowed(user, at: change.position)]
        case .announced(let announcement): return [announced(announcement, change: change, version: version)]
        case .announcementStatus(let id, let status): return [announcementStatus(id, status, change: change)]
        case .announcementDeleted(let id): return [announcementDeleted(id, at: change.position)]
        case .obsolete: return []
        }
    }

    private func followed(_ identity: Identity, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("create", .identity(identity.basic.userID), at: .user(position))
        write(identity, into: &packet.writer)
        return packet.finish(.change)
    }

    private func unfollowed(_ user: UserID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", .identity(user), at: .user(position))
        packet.writer.null()
        return packet.finish(.change)
    }

    private func announced(_ announcement: Announcement, change: UserChange, version: WireVersion) -> PacketTail {
        var packet = PacketBuilder(self, capacity: 1024)
        packet.beginChange("create", .announcement(announcement.id), at: .user(change.position))
        write(announcement, for: change.user, version: version, withNotification: true, into: &packet.writer)
        return packet.finish(.change)
    }

    private func announcementStatus(_ id: AnnouncementID, _ status: RecipientStatus, change: UserChange) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", .announcement(id), at: .user(change.position))
        packet.writer.beginArray()
        packet.setStatus(status, of: change.user)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func announcementDeleted(_ id: AnnouncementID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", .announcement(id), at: .user(position))
        packet.writer.beginObject()
        packet.writer.key("mode")
        packet.writer.string(DeletionMode.myDevices.rawValue)
        packet.writer.endObject()
        return packet.finish(.change)
    }

    private func messageHidden(
        _ id: MessageID, _ view: ConversationView?, _ withLastMessage: Bool, change: UserChange, version: WireVersion
    ) -> [PacketTail] {
        var delete = PacketBuilder(self)
        delete.beginChange("delete", .message(id, in: view?.conversation.id), at: .user(change.position))
        delete.writer.beginObject()
        delete.writer.key("mode")
        delete.writer.string(DeletionMode.myDevices.rawValue)
        delete.writer.endObject()
        guard let view else { return [delete.finish(.change)] }

        var update = PacketBuilder(self, capacity: 1024)
        update.beginChange("update", .conversation(view.conversation.id), at: .user(change.position))
        update.writer.beginArray()
        if !withLastMessage {
            // Nothing: it has been told.
        } else if let message = view.lastMessage {
            update.beginOperation("set", "last_message")
            update.writer.key("id")
            update.writer.messageID(message.id)
            update.writer.key("value")
            write(message, for: change.user, version: version, into: &update.writer)
            update.endOperation()
        } else {
            setNoLastMessage(in: &update)
        }
        update.beginOperation("set", "unread_message_count")
        update.writer.key("value")
        update.writer.int(view.unreadCount)
        update.endOperation()
        update.beginOperation("set", "total_message_count")
        update.writer.key("value")
        update.writer.int(view.totalCount)
        update.endOperation()
        update.writer.endArray()
        return [delete.finish(.change), update.finish(.change)]
    }
}
