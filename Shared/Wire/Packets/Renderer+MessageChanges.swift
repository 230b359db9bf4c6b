// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Model
import NIOCore

extension Renderer {
    /// The message, then what it means to its conversation: in this order, or clients do not find the message (spec 12.4).
    func created(_ message: Message, at position: Position, variant: Variant) -> [PacketTail] {
        guard case .reader(let reader) = variant.role else { return [] }
        let rendered = RenderedMessage(message, for: reader, version: variant.version, by: self)
        var create = PacketBuilder(self, capacity: rendered.text.count + 512)
        create.beginChange("create", .message(message.id, in: nil), at: .conversation(position))
        create.value(rendered)
        if reader.isUnread, let notification = message.notification { create.writer.reopenObject(adding: "notification", raw: notification) }

        var update = PacketBuilder(self, capacity: rendered.text.count + 768)
        update.beginChange("update", .conversation(message.conversationID), at: .conversation(position))
        update.writer.beginArray()
        setLastMessage(message.id, rendered, in: &update)
        if variant.includesNumbers {
            if reader != .sender { update.setNumber("unread_message_count", .unread) }
            update.setNumber("total_message_count", .total)
        }
        update.writer.endArray()
        return [create.finish(.change), update.finish(.change)]
    }

    func messageDeleted(_ id: MessageID, change: Change, last: Change.LastMessage, variant: Variant) -> [PacketTail] {
        var tails = [messageDeleted(id, in: change.conversationID, at: .conversation(change.position), .allParticipants)]
        var message = last.message
        var reader: MessageReader?
        switch variant.role {
        case .override(let user):
            message = last.overrides[user] ?? nil
            reader = message.map { MessageReader(user, of: $0) }
        case .reader(let kind): reader = kind
        case .anyone, .added, .affected, .named, .excluded: break
        }
        let showsLast: Bool
        if case .override = variant.role { showsLast = true } else { showsLast = last.changed }
        guard showsLast || variant.includesNumbers else { return tails }
        var update = PacketBuilder(self, capacity: 1024)
        update.beginChange("update", .conversation(change.conversationID), at: .conversation(change.position))
        update.writer.beginArray()
        if showsLast {
            if let message, let reader {
                let rendered = RenderedMessage(message, for: reader, version: variant.version, by: self)
                setLastMessage(message.id, rendered, in: &update)
            } else {
                setNoLastMessage(in: &update)
            }
        }
        if variant.includesNumbers {
            update.setNumber("unread_message_count", .unread)
            update.setNumber("total_message_count", .total)
        }
        update.writer.endArray()
        tails.append(update.finish(.change))
        return tails
    }

    func messageDeleted(_ id: MessageID, in conversation: ConversationID, at place: PacketBuilder.Place, _ mode: DeletionMode) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", .message(id, in: conversation), at: place)
        packet.writer.beginObject()
        packet.writer.key("mode")
        packet.writer.string(mode.rawValue)
        packet.writer.endObject()
        return packet.finish(.change)
    }

    /// One packet a message, in the order in which the change names them.
    func receiptsGiven(_ receipts: [Change.Receipt], change: Change, variant: Variant) -> [PacketTail] {
        var receipts = receipts
        var isAffected = variant.role == .affected
        if case .named(let reader) = variant.role {
            isAffected = Variant.areNumbersAltered(by: receipts, change, of: reader)
            receipts.removeAll { !$0.concerns(reader) }
        }
        var order: [MessageID] = []
        var byMessage: [MessageID: [Change.Receipt]] = [:]
        for receipt in receipts {
            if byMessage[receipt.messageID] == nil { order.append(receipt.messageID) }
            byMessage[receipt.messageID, default: []].append(receipt)
        }
        var tails = order.map { statusChanged($0, byMessage[$0] ?? [], change: change) }
        if isAffected, variant.includesNumbers { tails.append(unreadChanged(change.conversationID, at: change.position)) }
        return tails
    }

    private func statusChanged(_ id: MessageID, _ receipts: [Change.Receipt], change: Change) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", .message(id, in: change.conversationID), at: .conversation(change.position))
        packet.writer.beginArray()
        for receipt in receipts { packet.setStatus(receipt.status, of: receipt.user) }
        packet.writer.endArray()
        return packet.finish(.change)
    }

    func unreadChanged(_ id: ConversationID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", .conversation(id), at: .conversation(position))
        packet.writer.beginArray()
        packet.setNumber("unread_message_count", .unread)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    /// The id alone would be enough for a client that still has the message; the value serves all others.
    func setLastMessage(_ id: MessageID, _ message: RenderedMessage, in packet: inout PacketBuilder) {
        packet.beginOperation("set", "last_message")
        packet.writer.key("id")
        packet.writer.messageID(id)
        packet.writer.key("value")
        packet.value(message)
        packet.endOperation()
    }

    func setNoLastMessage(in packet: inout PacketBuilder) {
        packet.beginOperation("set", "last_message")
        packet.writer.key("value")
        packet.writer.null()
        packet.endOperation()
    }
}
