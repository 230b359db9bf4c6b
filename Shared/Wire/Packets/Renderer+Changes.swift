// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import Model

extension Renderer {
    /// The packets by which the readers of `variant` are told of `change`, in the order in which they must arrive (spec 12.4, 13).
    ///
    /// Empty when there is nothing to tell: the object is gone since, or the reader needs ``created(_:for:version:)``.
    public func tails(for change: Change, variant: Variant) -> [PacketTail] {
        let id = change.conversationID
        if variant.role == .excluded { return [] }
        switch change.content {
        case .conversationCreated(let conversation): return conversation.map { [created($0, at: change.position)] } ?? []
        case .participantsChanged(let added, let removed, let distinctCleared, _):
            if variant.needsView { return [] }
            return [participantsChanged(id, at: change.position, added: added, removed: removed, distinctCleared: distinctCleared)]
        case .metadataChanged(let effects): return [metadataChanged(id, at: change.position, effects)]
        case .conversationDeleted: return [conversationDeleted(id, at: .conversation(change.position), .allParticipants, fromPosition: nil)]
        case .messageCreated(_, _, let message): return message.map { created($0, at: change.position, variant: variant) } ?? []
        case .messageDeleted(let message, _, let last):
            return messageDeleted(message, change: change, last: last, variant: variant)
        case .receipts(let receipts): return receiptsGiven(receipts, change: change, variant: variant)
        case .allRead(let user, let upTo, _):
            var tails = [allRead(id, at: change.position, by: user, upTo: upTo)]
            if variant.role == .affected, variant.includesNumbers { tails.append(unreadChanged(id, at: change.position)) }
            return tails
        case .partsChanged(_, _, let edits, let message):
            return message.map { partsChanged(edits, of: $0, at: change.position, variant: variant) } ?? []
        }
    }

    /// The `create` packet of a conversation for one reader: to those who were added, or who get back what they had hidden.
    /// - Parameter position: of the change by which he came to the conversation; the conversation's own, which `view` holds, may be later.
    public func created(_ view: ConversationView, for reader: UserID, version: WireVersion, at position: Position? = nil) -> PacketTail {
        created(view, for: reader, version: version, at: .conversation(position ?? view.conversation.position))
    }

    /// A reader's current numbers, as at the end of a replay. `position` is the change they are true after.
    public func numbersChanged(_ id: ConversationID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", .conversation(id), at: .conversation(position))
        packet.writer.beginArray()
        packet.setNumber("unread_message_count", .unread)
        packet.setNumber("total_message_count", .total)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    func created(_ view: ConversationView, for reader: UserID, version: WireVersion, at place: PacketBuilder.Place) -> PacketTail {
        var packet = PacketBuilder(self, capacity: 2048)
        packet.beginChange("create", .conversation(view.conversation.id), at: place)
        write(view, for: reader, version: version, into: &packet.writer)
        return packet.finish(.change)
    }

    /// The number of messages is 0 whenever this is rendered: messages and numbers that came later follow as changes of their own.
    private func created(_ conversation: Conversation, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self, capacity: 1024)
        packet.beginChange("create", .conversation(conversation.id), at: .conversation(position))
        write(new: conversation, into: &packet.writer)
        return packet.finish(.change)
    }

    private func participantsChanged(
        _ id: ConversationID, at position: Position, added: [BasicIdentity], removed: [UserID], distinctCleared: Bool
    ) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", .conversation(id), at: .conversation(position))
        packet.writer.beginArray()
        for user in removed {
            packet.beginOperation("remove", "participants")
            packet.writer.key("id")
            packet.writer.identityID(percentEncoded: user.percentEncoded)
            packet.endOperation()
        }
        for identity in added {
            packet.beginOperation("add", "participants")
            packet.writer.key("id")
            packet.writer.identityID(percentEncoded: identity.userID.percentEncoded)
            // Without it a client that does not know the user puts null into its list.
            packet.writer.key("value")
            write(identity, into: &packet.writer)
            packet.endOperation()
        }
        if distinctCleared {
            packet.beginOperation("set", "distinct")
            packet.writer.key("value")
            packet.writer.bool(false)
            packet.endOperation()
        }
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func metadataChanged(_ id: ConversationID, at position: Position, _ effects: [MetadataEffect]) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", .conversation(id), at: .conversation(position))
        packet.writer.beginArray()
        for effect in effects { write(effect, into: &packet.writer) }
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func write(_ effect: MetadataEffect, into writer: inout JSONWriter) {
        let isRoot = effect.path == .root
        writer.beginObject()
        writer.key("operation")
        // A property of the object itself cannot be deleted, only keys below it (spec 14.2).
        writer.string(constant: effect.value == nil && !isRoot ? "delete" : "set")
        writer.key("property")
        writer.string(isRoot ? "metadata" : "metadata.\(effect.path.dotted)")
        if let value = effect.value {
            writer.key("value")
            writer.string(value)
        } else if isRoot {
            writer.key("value")
            writer.raw(constant: "{}")
        }
        writer.endObject()
    }

    func conversationDeleted(_ id: ConversationID, at place: PacketBuilder.Place, _ mode: DeletionMode, fromPosition: Position?) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", .conversation(id), at: place)
        packet.writer.beginObject()
        packet.writer.key("mode")
        packet.writer.string(mode.rawValue)
        packet.writer.key("from_position")
        if let fromPosition { packet.writer.int(fromPosition.wireValue) } else { packet.writer.null() }
        packet.writer.endObject()
        return packet.finish(.change)
    }

    private func allRead(_ id: ConversationID, at position: Position, by user: UserID, upTo: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.writer.beginObject()
        packet.writer.key("method")
        packet.writer.string(constant: "Conversation.mark_all_read")
        packet.object(.conversation(id))
        packet.writer.key("position")
        packet.writer.int(position.rawValue)
        packet.writer.key("data")
        packet.writer.beginObject()
        packet.writer.key("position")
        packet.writer.int(upTo.wireValue)
        packet.writer.key("identity")
        packet.writer.beginObject()
        packet.writer.key("id")
        packet.writer.identityID(percentEncoded: user.percentEncoded)
        packet.writer.endObject()
        packet.writer.endObject()
        return packet.finish(.operation)
    }
}
