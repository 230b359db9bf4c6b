// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

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
