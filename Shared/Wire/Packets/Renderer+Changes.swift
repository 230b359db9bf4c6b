// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
public import StrataModel

extension Renderer {
    /// Returns the packets that report `change` to the readers of `variant`, in the order of delivery
    /// (docs/conformance.md §12.4, §13).
    ///
    /// The result is empty if the object no longer exists, or if the reader needs
    /// ``conversationCreated(_:for:version:at:)``.
    public func tails(for change: Change, variant: Variant) -> [PacketTail] {
        let id = change.conversationID
        if variant.role == .excluded { return [] }
        switch change.content {
        case .conversationCreated(let conversation):
            return conversation.map { conversationCreated($0, at: change.position) } ?? []
        case .participantsChanged(let added, let removed, let distinctCleared, _):
            if variant.needsView { return [] }
            return participantsChanged(
                id, at: change.position, added: added, removed: removed, distinctCleared: distinctCleared)
        case .metadataChanged(let effects): return metadataChanged(id, at: change.position, effects: effects)
        case .conversationDeleted:
            return [
                conversationDeleted(id, at: .conversation(change.position), mode: .allParticipants, fromPosition: nil)
            ]
        case .messageCreated(_, _, let message):
            return message.map { messageCreated($0, at: change.position, variant: variant) } ?? []
        case .messageDeleted(let message, _, let last):
            return messageDeleted(message, change: change, last: last, variant: variant)
        case .receipts(let receipts): return receiptsGiven(receipts, change: change, variant: variant)
        case .allRead(let user, let upTo, _):
            var tails = [allRead(id, at: change.position, by: user, upTo: upTo)]
            if variant.role == .affected, variant.includesCounts {
                tails.append(unreadChanged(id, at: change.position))
            }
            return tails
        case .partsChanged(_, _, let edits, let message):
            return message.map { partsChanged(edits, of: $0, at: change.position, variant: variant) } ?? []
        }
    }

    /// Returns the `create` packet of a conversation for one reader who was added, or for whom a hidden conversation is
    /// visible again. If the packet would be too large, further packets contain the rest.
    /// - Parameter position: the position of the change that added the reader. The conversation's own position in
    ///   `view` may be later.
    public func conversationCreated(
        _ view: ConversationView, for reader: UserID, version: WireVersion, at position: Position? = nil
    ) -> [PacketTail] {
        conversationCreated(
            view, for: reader, version: version, at: .conversation(position ?? view.conversation.position))
    }

    /// Returns a packet with a reader's current counts, as at the end of a replay. The counts are valid at `position`.
    public func countsChanged(_ id: ConversationID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .conversation(id), at: .conversation(position))
        packet.writer.beginArray()
        packet.setNumber("unread_message_count", from: .unread)
        packet.setNumber("total_message_count", from: .total)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    func conversationCreated(
        _ view: ConversationView, for reader: UserID, version: WireVersion, at place: PacketBuilder.Place
    ) -> [PacketTail] {
        var packet = PacketBuilder(self, capacity: 2048)
        packet.beginChange("create", of: .conversation(view.conversation.id), at: place)
        writeConversation(view, for: reader, version: version, into: &packet.writer)
        let whole = packet.finish(.change)
        guard whole.text.readableBytes > packetBytes else { return [whole] }
        let portion = portion(of: view, for: reader, version: version, at: place)
        packet = PacketBuilder(self, capacity: packetBytes)
        packet.beginChange("create", of: .conversation(view.conversation.id), at: place)
        writeConversation(portion.view, for: reader, version: version, into: &packet.writer)
        return [packet.finish(.change)] + rest(of: portion, at: place)
    }

    /// Returns the packets for a created conversation. Its message count is 0 at this position; later messages and
    /// counts follow as changes of their own.
    private func conversationCreated(_ conversation: Conversation, at position: Position) -> [PacketTail] {
        var packet = PacketBuilder(self, capacity: 1024)
        packet.beginChange("create", of: .conversation(conversation.id), at: .conversation(position))
        writeNewConversation(conversation, into: &packet.writer)
        let whole = packet.finish(.change)
        guard whole.text.readableBytes > packetBytes else { return [whole] }
        let view = ConversationView(
            conversation: conversation, isParticipant: true, lastMessage: nil,
            counts: UserCounts(excluded: 0, hidden: 0, position: position),
            messageCount: 0)
        let portion = portion(of: view, for: nil, version: .v3, at: .conversation(position))
        packet = PacketBuilder(self, capacity: packetBytes)
        packet.beginChange("create", of: .conversation(conversation.id), at: .conversation(position))
        writeNewConversation(portion.view.conversation, into: &packet.writer)
        return [packet.finish(.change)] + rest(of: portion, at: .conversation(position))
    }

    private func participantsChanged(
        _ id: ConversationID, at position: Position, added: [BasicIdentity], removed: [UserID], distinctCleared: Bool
    ) -> [PacketTail] {
        var packets = UpdatePackets(renderer: self, for: .conversation(id), at: .conversation(position))
        // Added users come first, because a client removes all participants when its own user is removed.
        for identity in added { packets.addOperation { addParticipant(identity, in: &$0) } }
        for user in removed {
            packets.addOperation { packet in
                packet.beginOperation("remove", on: "participants")
                packet.writer.key("id")
                packet.writer.identityID(percentEncoded: user.percentEncoded)
                packet.endOperation()
            }
        }
        if distinctCleared {
            packets.addOperation { packet in
                packet.beginOperation("set", on: "distinct")
                packet.writer.key("value")
                packet.writer.bool(false)
                packet.endOperation()
            }
        }
        return packets.finish()
    }

    func addParticipant(_ identity: BasicIdentity, in packet: inout PacketBuilder) {
        packet.beginOperation("add", on: "participants")
        packet.writer.key("id")
        packet.writer.identityID(percentEncoded: identity.userID.percentEncoded)
        // Without the value, a client that does not know the user adds null to its list.
        packet.writer.key("value")
        writeBasicIdentity(identity, into: &packet.writer)
        packet.endOperation()
    }

    private func metadataChanged(_ id: ConversationID, at position: Position, effects: [MetadataEffect]) -> [PacketTail]
    {
        var packets = UpdatePackets(renderer: self, for: .conversation(id), at: .conversation(position))
        for effect in effects { packets.addOperation { writeMetadataOperation(effect, into: &$0.writer) } }
        return packets.finish()
    }

    func writeMetadataOperation(_ effect: MetadataEffect, into writer: inout JSONWriter) {
        let isRoot = effect.path == .root
        writer.beginObject()
        writer.key("operation")
        // Only keys below a property of the object can be deleted, not the property itself (docs/conformance.md §14.2).
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

    func conversationDeleted(
        _ id: ConversationID, at place: PacketBuilder.Place, mode: DeletionMode, fromPosition: Position?
    ) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", of: .conversation(id), at: place)
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
