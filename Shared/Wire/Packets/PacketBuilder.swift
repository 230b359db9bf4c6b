// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel

/// Collects the text and the gaps of one ``PacketTail``.
struct PacketBuilder: ~Copyable {
    /// The object a packet is about.
    enum Target {
        case conversation(ConversationID)
        /// The conversation is a member of our own, for packets whose data does not name it.
        case message(MessageID, in: ConversationID?)
        case part(UUID, of: MessageID, in: ConversationID)
        case identity(UserID)
        case announcement(AnnouncementID)
    }
    /// Our own member that says where in the order of changes a packet belongs.
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

    /// Begins the body of a change packet, up to its data.
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

    /// The member `object`.
    mutating func object(_ target: Target) { renderer.writeTarget(target, into: &writer) }

    /// Begins an operation of a patch on a fixed property. What follows is the `value` or `id`, and ``endOperation()``.
    mutating func beginOperation(_ operation: StaticString, on property: StaticString) {
        writer.beginObject()
        writer.key("operation")
        writer.string(constant: operation)
        writer.key("property")
        writer.string(constant: property)
    }
    mutating func endOperation() { writer.endObject() }

    /// `set` of a number that every socket fills in.
    mutating func setNumber(_ property: StaticString, from slot: PacketTail.Slot) {
        beginOperation("set", on: property)
        writer.key("value")
        gap(slot)
        writer.elementWritten()
        endOperation()
    }

    /// `set` of one recipient's status. The recipient's id is one key, whatever dots are in it.
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

    /// Leaves a gap here.
    mutating func gap(_ slot: PacketTail.Slot) { gaps.append(PacketTail.Gap(offset: writer.count, slot: slot)) }

    /// Appends text that was rendered elsewhere, as one value, together with its gaps.
    mutating func value(_ piece: RenderedMessage) {
        writer.separate()
        if let (offset, status) = piece.ownStatus {
            gaps.append(PacketTail.Gap(offset: writer.count + offset, slot: .ownStatus(status)))
        }
        writer.append(piece.text)
        writer.elementWritten()
    }

    /// Takes back the element that begins after `end`.
    mutating func cut(after end: Int) -> [UInt8] {
        var element = writer.cut(after: end)
        if element.first == UInt8(ascii: ",") { element.removeFirst() }
        return element
    }

    /// Appends an element that was taken back elsewhere.
    mutating func element(_ text: [UInt8]) {
        writer.separate()
        writer.append(text)
        writer.elementWritten()
    }

    /// Ends the packet's body and the packet.
    mutating func finish(_ kind: PacketKind) -> PacketTail {
        writer.endObject()
        writer.byte(UInt8(ascii: "}"))
        return PacketTail(kind: kind, text: writer.buffer, gaps: gaps)
    }
}

extension PacketBuilder.Target {
    /// What the packet's data does not name.
    fileprivate var conversation: ConversationID? {
        switch self {
        case .message(_, let conversation): conversation
        case .part(_, _, let conversation): conversation
        case .conversation, .identity, .announcement: nil
        }
    }
}

extension Renderer {
    /// The member `object` of a packet's body.
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

/// A message's text for one kind of reader; a packet may need it twice.
struct RenderedMessage {
    let text: [UInt8]
    /// Where the reader's own status is missing, and what it is.
    let ownStatus: (Int, RecipientStatus)?

    init(_ message: Message, for reader: MessageReader, version: WireVersion, by renderer: Renderer) {
        var writer = JSONWriter(capacity: 768)
        ownStatus = renderer.writeMessage(message, for: reader, version: version, into: &writer) { writer, status in
            (writer.count, status)
        }
        text = writer.bytes
    }
}
