// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel

/// A builder for the text and the gaps of one ``PacketTail``.
struct PacketBuilder: ~Copyable {
    enum Target {
        case conversation(ConversationID)
        /// A message. The conversation is an extension member, for packets whose data does not contain it.
        case message(MessageID, in: ConversationID?)
        case part(UUID, of: MessageID, in: ConversationID)
        case identity(UserID)
        case announcement(AnnouncementID)
    }
    /// The extension member with the packet's position in a log.
    enum Place {
        case none
        case conversation(Position)
        case user(Position)
    }

    var writer: JSONWriter
    private var gaps: [PacketTail.Gap] = []
    private let renderer: Renderer

    init(_ renderer: Renderer, capacity: Int = 512) {
        self.renderer = renderer
        writer = JSONWriter(capacity: capacity)
    }

    /// Begins the body of a change packet, up to `data`.
    mutating func beginChange(_ operation: StaticString, of target: Target, at place: Place) {
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: operation)
        object(target)
        switch place {
        case .none: break
        case .conversation(let position):
            writer.key("position")
            writer.int(position.rawValue)
        case .user(let position):
            writer.key("user_position")
            writer.int(position.rawValue)
        }
        if let conversation = target.conversation {
            writer.key("conversation")
            writer.beginObject()
            writer.key("id")
            writer.conversationID(conversation)
            writer.endObject()
        }
        writer.key("data")
    }

    mutating func object(_ target: Target) { renderer.writeTarget(target, into: &writer) }

    /// Begins a patch operation on a fixed property. The caller writes `value` or `id`, and calls ``endOperation()``.
    mutating func beginOperation(_ operation: StaticString, on property: StaticString) {
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: operation)
        writer.key("property")
        writer.string(constant: property)
    }
    mutating func endOperation() { writer.endObject() }

    /// Writes a `set` operation whose number each socket fills in.
    mutating func setNumber(_ property: StaticString, from slot: PacketTail.Slot) {
        beginOperation("set", on: property)
        writer.key("value")
        gap(slot)
        writer.elementWritten()
        endOperation()
    }

    /// Writes a `set` operation of one recipient's status. The recipient's id is a single key, even if it contains
    /// dots.
    mutating func setStatus(_ status: RecipientStatus, of user: UserID) {
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: "set")
        writer.key("property")
        writer.string("recipient_status." + PatchPath.escape("layer:///identities/\(user.percentEncoded)"))
        writer.key("value")
        writer.string(status.name)
        writer.endObject()
    }

    mutating func gap(_ slot: PacketTail.Slot) { gaps.append(PacketTail.Gap(offset: writer.count, slot: slot)) }

    /// Appends text that was rendered elsewhere as one value, with its gap.
    mutating func value(_ piece: RenderedMessage) {
        writer.separate()
        if let (offset, status) = piece.ownStatus {
            gaps.append(PacketTail.Gap(offset: writer.count + offset, slot: .ownStatus(status)))
        }
        writer.append(piece.text)
        writer.elementWritten()
    }

    /// Removes and returns the element after the offset `end`, without its comma.
    mutating func cut(after end: Int) -> [UInt8] {
        var element = writer.cut(after: end)
        if element.first == UInt8(ascii: ",") { element.removeFirst() }
        return element
    }

    /// Appends an element that was removed from another packet.
    mutating func element(_ text: [UInt8]) {
        writer.separate()
        writer.append(text)
        writer.elementWritten()
    }

    mutating func finish(_ kind: PacketKind) -> PacketTail {
        writer.endObject()
        writer.byte(UInt8(ascii: "}"))
        return PacketTail(kind: kind, text: writer.buffer, gaps: gaps)
    }
}

extension PacketBuilder.Target {
    /// The conversation, if the packet's data does not contain it.
    fileprivate var conversation: ConversationID? {
        switch self {
        case .message(_, let conversation): conversation
        case .part(_, _, let conversation): conversation
        case .conversation, .identity, .announcement: nil
        }
    }
}

extension Renderer {
    /// Writes the member `object` of a packet's body.
    func writeTarget(_ target: PacketBuilder.Target, into writer: inout JSONWriter) {
        writer.key("object")
        writer.beginObject()
        writer.key("type")
        switch target {
        case .conversation(let id):
            writer.string(constant: "Conversation")
            writer.key("id")
            writer.conversationID(id)
            writer.key("url")
            writer.string(prefix: conversationURL, uuid: id.rawValue)
        case .message(let id, _):
            writer.string(constant: "Message")
            writer.key("id")
            writer.messageID(id)
            writer.key("url")
            writer.string(prefix: messageURL, uuid: id.rawValue)
        case .part(let part, let message, _):
            writer.string(constant: "MessagePart")
            writer.key("id")
            writer.partID(part, of: message)
            writer.key("url")
            writer.openString(messageURL)
            writer.uuid(message.rawValue)
            writer.literal("/parts/")
            writer.uuid(part)
            writer.closeString()
        case .announcement(let id):
            writer.string(constant: "Announcement")
            writer.key("id")
            writer.announcementID(id)
            writer.key("url")
            writer.string(prefix: announcementURL, uuid: id.rawValue)
        case .identity(let user):
            let encoded = user.percentEncoded
            writer.string(constant: "Identity")
            writer.key("id")
            writer.identityID(percentEncoded: encoded)
            writer.key("url")
            writer.string(prefix: identityURL, plain: encoded)
        }
        writer.endObject()
    }
}

/// The text of a message for one kind of reader. A packet may contain it twice.
struct RenderedMessage {
    let text: [UInt8]
    /// The offset at which the reader's own status is missing, and that status; nil: none is missing.
    let ownStatus: (Int, RecipientStatus)?

    init(_ message: Message, for reader: MessageReader, version: WireVersion, by renderer: Renderer) {
        var writer = JSONWriter(capacity: 768)
        ownStatus = renderer.writeMessage(message, for: reader, version: version, into: &writer) { writer, status in
            (writer.count, status)
        }
        text = writer.bytes
    }
}

/// A collector for the operations of an `update`, which it splits into several packets if necessary. The packets have
/// no gaps.
struct UpdatePackets: ~Copyable {
    private let renderer: Renderer
    private let target: PacketBuilder.Target
    private let place: PacketBuilder.Place
    private var packet: PacketBuilder
    private var isEmpty = true
    private var tails: [PacketTail] = []

    init(renderer: Renderer, for target: PacketBuilder.Target, at place: PacketBuilder.Place) {
        self.renderer = renderer
        self.target = target
        self.place = place
        packet = PacketBuilder(renderer)
        packet.beginChange("update", of: target, at: place)
        packet.writer.beginArray()
    }

    mutating func addOperation(_ body: (inout PacketBuilder) -> Void) {
        let end = packet.writer.count
        body(&packet)
        if !isEmpty, packet.writer.count > renderer.packetBytes {
            let operation = packet.cut(after: end)
            endPacket()
            packet.element(operation)
        }
        isEmpty = false
    }

    private mutating func endPacket() {
        packet.writer.endArray()
        tails.append(packet.finish(.change))
        packet = PacketBuilder(renderer)
        packet.beginChange("update", of: target, at: place)
        packet.writer.beginArray()
    }

    /// Returns the packets: at least one, possibly without operations.
    consuming func finish() -> [PacketTail] {
        packet.writer.endArray()
        return tails + [packet.finish(.change)]
    }
}
