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

extension Renderer {
    /// Returns an identity's `update` packet, for the user and the user's followers.
    /// - Parameter previous: the former identity. If set, only differences are included.
    public func identityUpdated(_ identity: Identity, from previous: Identity? = nil) -> PacketTail {
        identityUpdated(identity, from: previous, at: .none)
    }

    /// Returns a packet with a user's presence for its subscribers. For readers other than the user, pass
    /// ``StrataModel/Presence/forOthers`` (docs/conformance.md §12.8).
    public func presenceChanged(_ user: UserID, to presence: Presence) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .identity(user), at: .none)
        writePresenceOperations(of: presence, into: &packet.writer)
        return packet.finish(.change)
    }

    /// Writes the data of a successful response to `Presence.sync`.
    public func writePresenceChanges(
        _ presenceChanges: [(user: UserID, presence: Presence)], into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("changes")
        writer.beginArray()
        for (user, presence) in presenceChanges {
            writer.beginObject()
            writer.key("operation")
            writer.string(constant: "update")
            writeTarget(.identity(user), into: &writer)
            writer.key("data")
            writePresenceOperations(of: presence, into: &writer)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    /// Writes operations for the two leaf paths, because clients do not accept the object as a whole.
    private func writePresenceOperations(of presence: Presence, into writer: inout JSONWriter) {
        writer.beginArray()
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: "set")
        writer.key("property")
        writer.string(constant: "presence.status")
        writer.key("value")
        writer.string(presence.status.rawValue)
        writer.endObject()
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: "set")
        writer.key("property")
        writer.string(constant: "presence.last_seen_at")
        writer.key("value")
        writer.timestamp(presence.lastSeenAt)
        writer.endObject()
        writer.endArray()
    }

    func identityUpdated(
        _ identity: Identity, from previous: Identity? = nil, at place: PacketBuilder.Place
    ) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .identity(identity.basic.userID), at: place)
        packet.writer.beginArray()
        let texts: [(StaticString, KeyPath<Identity, String?>)] = [
            ("display_name", \.basic.displayName), ("avatar_url", \.basic.avatarURL), ("first_name", \.firstName),
            ("last_name", \.lastName),
            ("phone_number", \.phoneNumber), ("email_address", \.emailAddress), ("public_key", \.publicKey),
        ]
        for (property, path) in texts where previous.map({ $0[keyPath: path] != identity[keyPath: path] }) ?? true {
            packet.beginOperation("set", on: property)
            packet.writer.key("value")
            packet.writer.string(identity[keyPath: path])
            packet.endOperation()
        }
        if previous?.kind != identity.kind {
            // Set both names, as in the object.
            for property in ["type", "identity_type"] as [StaticString] {
                packet.beginOperation("set", on: property)
                packet.writer.key("value")
                packet.writer.string(identity.kind.rawValue)
                packet.endOperation()
            }
        }
        if previous?.metadata != identity.metadata {
            packet.beginOperation("set", on: "metadata")
            packet.writer.key("value")
            writeIdentityMetadata(identity.metadata, into: &packet.writer)
            packet.endOperation()
        }
        packet.writer.endArray()
        return packet.finish(.change)
    }
}
