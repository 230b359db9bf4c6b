// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Model

extension Renderer {
    /// How the readers of `variant` are told that parts of a message changed (spec 6.7, 12.4).
    ///
    /// Values are those of now: of a part that is gone meanwhile nothing is told but its removal, which has a change of its own.
    func partsChanged(_ edits: [Change.PartEdit], of message: Message, at position: Position, variant: Variant) -> [PacketTail] {
        // 2.0 clients ignore changes of parts, and merge a message they have with one of the same id (spec 15).
        if variant.version == .v2 {
            guard case .reader(let reader) = variant.role else { return [] }
            var packet = PacketBuilder(self, capacity: 1024)
            packet.beginChange("create", .message(message.id, in: nil), at: .conversation(position))
            packet.value(RenderedMessage(message, for: reader, version: .v2, by: self))
            return [packet.finish(.change)]
        }
        var tails: [PacketTail] = []
        for case .changed(let id) in edits {
            if let part = message.parts.first(where: { $0.id == id }) { tails.append(partChanged(part, of: message, at: position)) }
        }
        if let tail = partListChanged(edits, of: message, at: position) { tails.append(tail) }
        return tails
    }

    private func partListChanged(_ edits: [Change.PartEdit], of message: Message, at position: Position) -> PacketTail? {
        var packet = PacketBuilder(self, capacity: 1024)
        packet.beginChange("update", .message(message.id, in: message.conversationID), at: .conversation(position))
        packet.writer.beginArray()
        var isEmpty = true
        for edit in edits {
            switch edit {
            case .added(let id):
                guard let index = message.parts.firstIndex(where: { $0.id == id }) else { continue }
                packet.beginOperation("add", "parts")
                packet.writer.key("id")
                packet.writer.partID(id, of: message.id)
                packet.writer.key("value")
                write(message.parts[index], at: index, of: message.id, version: .v3, into: &packet.writer)
                packet.endOperation()
            case .removed(let id, _):
                packet.beginOperation("remove", "parts")
                packet.writer.key("id")
                packet.writer.partID(id, of: message.id)
                packet.endOperation()
            case .allReplaced:
                packet.beginOperation("set", "parts")
                packet.writer.key("value")
                packet.writer.beginArray()
                for (index, part) in message.parts.enumerated() {
                    write(part, at: index, of: message.id, version: .v3, into: &packet.writer)
                }
                packet.writer.endArray()
                packet.endOperation()
            case .changed: continue
            }
            isEmpty = false
        }
        let areChanged = edits.contains { if case .changed = $0 { true } else { false } }
        guard !isEmpty || areChanged else { return nil }
        set("updated_at", to: message.updatedAt, in: &packet)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func partChanged(_ part: MessagePart, of message: Message, at position: Position) -> PacketTail {
        var packet = PacketBuilder(self, capacity: 1024)
        packet.beginChange("update", .part(part.id, of: message.id, in: message.conversationID), at: .conversation(position))
        packet.writer.beginArray()
        set("mime_type", to: part.mimeType, in: &packet)
        set("body", to: part.body, in: &packet)
        set("encoding", to: part.encoding, in: &packet)
        packet.beginOperation("set", "content")
        packet.writer.key("value")
        if let content = part.contentID {
            write(content, size: part.size, at: locateContent(content), into: &packet.writer)
        } else {
            packet.writer.null()
        }
        packet.endOperation()
        packet.beginOperation("set", "size")
        packet.writer.key("value")
        packet.writer.int(part.size)
        packet.endOperation()
        set("updated_at", to: part.updatedAt, in: &packet)
        packet.writer.endArray()
        return packet.finish(.change)
    }

    private func set(_ property: StaticString, to text: String?, in packet: inout PacketBuilder) {
        packet.beginOperation("set", property)
        packet.writer.key("value")
        packet.writer.string(text)
        packet.endOperation()
    }

    private func set(_ property: StaticString, to time: Timestamp?, in packet: inout PacketBuilder) {
        packet.beginOperation("set", property)
        packet.writer.key("value")
        packet.writer.timestamp(time)
        packet.endOperation()
    }
}

extension JSONWriter {
    /// The id of a part as 3.0 has it.
    mutating func partID(_ part: UUID, of message: MessageID) {
        separate()
        literal("\"layer:///messages/")
        uuid(message.rawValue)
        literal("/parts/")
        uuid(part)
        closeString()
    }
}
