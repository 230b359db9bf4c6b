// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel

extension Renderer {
    /// Returns the packets for a created message: the message first, then the update of its conversation. Otherwise
    /// clients do not find the message (docs/conformance.md §12.11).
    func messageCreated(_ message: Message, at position: Position, variant: Variant) -> [PacketTail] {
        guard case .reader(let reader) = variant.role else { return [] }
        let rendered = RenderedMessage(message, for: reader, version: variant.version, by: self)
        var create = PacketBuilder(self, capacity: rendered.text.count + 512)
        create.beginChange("create", of: .message(message.id, in: nil), at: .conversation(position))
        create.value(rendered)
        if reader.isUnread, let notification = message.notification {
            create.writer.reopenObject(adding: "notification", raw: notification)
        }

        var update = PacketBuilder(self, capacity: rendered.text.count + 768)
        update.beginChange("update", of: .conversation(message.conversationID), at: .conversation(position))
        update.writer.beginArray()
        setLastMessage(message.id, rendered: rendered, in: &update)
        if variant.includesCounts {
            if reader != .sender { update.setNumber("unread_message_count", from: .unread) }
            update.setNumber("total_message_count", from: .total)
        }
        update.writer.endArray()
        if max(create.writer.count, update.writer.count) > packetBytes,
            let portion = portion(of: message, version: variant.version)
        {
            return messageCreated(portion, at: position, variant: variant)
                + rest(of: message, after: portion, at: .conversation(position))
        }
        return [create.finish(.change), update.finish(.change)]
    }

    func messageDeleted(_ id: MessageID, change: Change, last: Change.LastMessage, variant: Variant) -> [PacketTail] {
        var tails = [
            messageDeleted(id, in: change.conversationID, at: .conversation(change.position), mode: .allParticipants)
        ]
        var further: [PacketTail] = []
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
        guard showsLast || variant.includesCounts else { return tails }
        var update = PacketBuilder(self, capacity: 1024)
        update.beginChange("update", of: .conversation(change.conversationID), at: .conversation(change.position))
        update.writer.beginArray()
        if showsLast {
            if let message, let reader {
                var rendered = RenderedMessage(message, for: reader, version: variant.version, by: self)
                if rendered.text.count > packetBytes - Self.messageReserve,
                    let portion = portion(of: message, version: variant.version)
                {
                    rendered = RenderedMessage(portion, for: reader, version: variant.version, by: self)
                    further = rest(of: message, after: portion, at: .conversation(change.position))
                }
                setLastMessage(message.id, rendered: rendered, in: &update)
            } else {
                setNoLastMessage(in: &update)
            }
        }
        if variant.includesCounts {
            update.setNumber("unread_message_count", from: .unread)
            update.setNumber("total_message_count", from: .total)
        }
        update.writer.endArray()
        tails.append(update.finish(.change))
        return tails + further
    }

    func messageDeleted(
        _ id: MessageID, in conversation: ConversationID?, at place: PacketBuilder.Place, mode: DeletionMode
    ) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("delete", of: .message(id, in: conversation), at: place)
        packet.writer.beginObject()
        packet.writer.key("mode")
        packet.writer.string(mode.rawValue)
        packet.writer.endObject()
        return packet.finish(.change)
    }

    /// Returns one packet for each message, in the order of the change.
    func receiptsGiven(_ receipts: [Change.Receipt], change: Change, variant: Variant) -> [PacketTail] {
        var receipts = receipts
        var isAffected = variant.role == .affected
        if case .named(let reader) = variant.role {
            isAffected = Variant.areCountsAltered(by: receipts, in: change, of: reader)
            receipts.removeAll { !$0.concerns(reader) }
        }
        var order: [MessageID] = []
        var byMessage: [MessageID: [Change.Receipt]] = [:]
        for receipt in receipts {
            if byMessage[receipt.messageID] == nil { order.append(receipt.messageID) }
            byMessage[receipt.messageID, default: []].append(receipt)
        }
        var tails = order.flatMap { statusChanged($0, receipts: byMessage[$0] ?? [], change: change) }
        if isAffected, variant.includesCounts {
            tails.append(unreadChanged(change.conversationID, at: change.position))
        }
        return tails
    }

    private func statusChanged(_ id: MessageID, receipts: [Change.Receipt], change: Change) -> [PacketTail] {
        var packets = UpdatePackets(
            renderer: self, for: .message(id, in: change.conversationID), at: .conversation(change.position))
        for receipt in receipts { packets.addOperation { $0.setStatus(receipt.status, of: receipt.user) } }
        return packets.finish()
    }

    func unreadChanged(_ id: ConversationID, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self)
        packet.beginChange("update", of: .conversation(id), at: .conversation(position))
        packet.writer.beginArray()
        packet.setNumber("unread_message_count", from: .unread)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    /// Sets the last message. The id would suffice for clients that have the message; the value is for all others.
    func setLastMessage(_ id: MessageID, rendered message: RenderedMessage, in packet: inout PacketBuilder) {
        packet.beginOperation("set", on: "last_message")
        packet.writer.key("id")
        packet.writer.messageID(id)
        packet.writer.key("value")
        packet.value(message)
        packet.endOperation()
    }

    func setNoLastMessage(in packet: inout PacketBuilder) {
        packet.beginOperation("set", on: "last_message")
        packet.writer.key("value")
        packet.writer.null()
        packet.endOperation()
    }
}

extension Renderer {
    /// Returns the packets that report changed parts of a message to the readers of `variant` (docs/conformance.md
    /// §6.7, §12.4).
    ///
    /// The packets contain current values. Of a part that no longer exists, only the removal is reported, by its own
    /// change.
    func partsChanged(
        _ edits: [Change.PartEdit], of message: Message, at position: Position, variant: Variant
    ) -> [PacketTail] {
        // 2.0 clients ignore changes of parts. They merge a created message with an existing one of the same id
        // (docs/conformance.md §15).
        if variant.version == .v2 {
            guard case .reader(let reader) = variant.role else { return [] }
            var packet = PacketBuilder(self, capacity: 1024)
            packet.beginChange("create", of: .message(message.id, in: nil), at: .conversation(position))
            packet.value(RenderedMessage(message, for: reader, version: .v2, by: self))
            return [packet.finish(.change)]
        }
        var tails: [PacketTail] = []
        for case .changed(let id) in edits {
            if let part = message.parts.first(where: { $0.id == id }) {
                tails.append(partChanged(part, of: message, at: position))
            }
        }
        return tails + partListChanged(edits, of: message, at: position)
    }

    private func partListChanged(_ edits: [Change.PartEdit], of message: Message, at position: Position) -> [PacketTail]
    {
        var packets = UpdatePackets(
            renderer: self, for: .message(message.id, in: message.conversationID), at: .conversation(position))
        var isEmpty = true
        for edit in edits {
            switch edit {
            case .added(let id):
                guard let index = message.parts.firstIndex(where: { $0.id == id }) else { continue }
                packets.addOperation { addPart(at: index, of: message, in: &$0) }
            case .removed(let id, _):
                packets.addOperation { packet in
                    packet.beginOperation("remove", on: "parts")
                    packet.writer.key("id")
                    packet.writer.partID(id, of: message.id)
                    packet.endOperation()
                }
            case .allReplaced:
                let portion = portion(of: message, version: .v3) ?? message
                packets.addOperation { packet in
                    packet.beginOperation("set", on: "parts")
                    packet.writer.key("value")
                    packet.writer.beginArray()
                    for (index, part) in portion.parts.enumerated() {
                        writePart(part, at: index, of: message.id, version: .v3, into: &packet.writer)
                    }
                    packet.writer.endArray()
                    packet.endOperation()
                }
                for index in portion.parts.count..<message.parts.count {
                    packets.addOperation { addPart(at: index, of: message, in: &$0) }
                }
            case .changed: continue
            }
            isEmpty = false
        }
        let areChanged = edits.contains { if case .changed = $0 { true } else { false } }
        guard !isEmpty || areChanged else { return [] }
        packets.addOperation { setTime("updated_at", to: message.updatedAt, in: &$0) }
        return packets.finish()
    }

    func addPart(at index: Int, of message: Message, in packet: inout PacketBuilder) {
        packet.beginOperation("add", on: "parts")
        packet.writer.key("id")
        packet.writer.partID(message.parts[index].id, of: message.id)
        packet.writer.key("value")
        writePart(message.parts[index], at: index, of: message.id, version: .v3, into: &packet.writer)
        packet.endOperation()
    }

    private func partChanged(_ part: MessagePart, of message: Message, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self, capacity: 1024)
        packet.beginChange(
            "update", of: .part(part.id, of: message.id, in: message.conversationID), at: .conversation(position))
        packet.writer.beginArray()
        setText("mime_type", to: part.mimeType, in: &packet)
        setText("body", to: part.body, in: &packet)
        setText("encoding", to: part.encoding, in: &packet)
        packet.beginOperation("set", on: "content")
        packet.writer.key("value")
        if let content = part.contentID {
            writeContent(content, size: part.size, at: locateContent(content), into: &packet.writer)
        } else {
            packet.writer.null()
        }
        packet.endOperation()
        packet.beginOperation("set", on: "size")
        packet.writer.key("value")
        packet.writer.int(part.size)
        packet.endOperation()
        setTime("updated_at", to: part.updatedAt, in: &packet)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func setText(_ property: StaticString, to text: String?, in packet: inout PacketBuilder) {
        packet.beginOperation("set", on: property)
        packet.writer.key("value")
        packet.writer.string(text)
        packet.endOperation()
    }

    func setTime(_ property: StaticString, to time: Timestamp?, in packet: inout PacketBuilder) {
        packet.beginOperation("set", on: property)
        packet.writer.key("value")
        packet.writer.timestamp(time)
        packet.endOperation()
    }
}

extension JSONWriter {
    /// Writes the id of a part in the 3.0 format.
    mutating func partID(_ part: UUID, of message: MessageID) {
        separate()
        literal("\"layer:///messages/")
        uuid(message.rawValue)
        literal("/parts/")
        uuid(part)
        closeString()
    }
}
