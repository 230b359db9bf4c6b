// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import StrataModel
import StrataWire
import Testing

let renderer = Renderer(baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org") { id in
    ContentLocation(downloadURL: "https://chat.example.org/d/\(id)", expiration: created)
}

let ana = BasicIdentity(userID: UserID(trusted: "ana"), displayName: "Ana Silva")
let ben = BasicIdentity(
    userID: UserID(trusted: "ben.o"), displayName: "Ben \"B\" Okoye", avatarURL: "https://cdn.example.org/b.png")
let cleo = BasicIdentity(userID: UserID(trusted: "cleo"))

let conversationUUID = "6f6f0a52-6a0e-4b0c-9a53-0d6d1b1f8a01"
let messageUUID = "0c4b0b4e-6d3a-4a57-8f43-5f9f4d7c2b10"
let partUUID = "5b1d5d0e-0d8c-4f2c-9b0e-0f4d0c1b2a3d"
let conversationID = ConversationID(rawValue: uuid(conversationUUID))
let messageID = MessageID(rawValue: uuid(messageUUID))
let created = Timestamp(microseconds: 1_525_426_200_125_999)

func uuid(_ text: String) -> UUID {
    UUID(uuidString: text) ?? UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}

func sampleMessage(
    recipients: [Message.Recipient]? = nil, notification: String? = nil, parts: [MessagePart]? = nil
) -> Message {
    Message(
        id: messageID, conversationID: conversationID, position: Position(3), ordinal: 1, sender: .user(ana),
        sentAt: created,
        parts: parts ?? [MessagePart(id: uuid(partUUID), mimeType: "text/plain", body: "Train leaves at 8", size: 17)],
        recipients: recipients ?? [.init(userID: ana.userID, status: .read), .init(userID: ben.userID, status: .sent)],
        notification: notification)
}

func sampleConversation(
    metadata: [MetadataLeaf]? = [MetadataLeaf(path: MetadataPath(trusted: "trip.city"), value: "Porto")]
) -> Conversation {
    Conversation(
        id: conversationID, createdAt: created, isDistinct: true, participants: [ana, ben],
        metadata: metadata.map { MetadataTree(leaves: $0) },
        position: Position(4), epoch: "e1")
}

func sampleView(
    lastMessage: Message? = nil, isParticipant: Bool = true, metadata: MetadataTree? = sampleConversation().metadata
) -> ConversationView {
    var conversation = sampleConversation()
    conversation.metadata = metadata
    return ConversationView(
        conversation: conversation, isParticipant: isParticipant, lastMessage: lastMessage,
        counts: UserCounts(excluded: 2, hidden: 1, position: Position(4)), messageCount: 5)
}

func sampleChange(_ content: Change.Content, counts: [UserID: UserCounts] = [:]) -> Change {
    Change(
        appID: AppID(rawValue: uuid(partUUID)), conversationID: conversationID, position: Position(7),
        createdAt: created, actor: ana.userID,
        origin: nil,
        messageCount: 5, counts: counts, content: content)
}

/// Parses a test's JSON. Records an issue and returns null if it is invalid.
func json(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> JSONValue {
    do {
        return try JSONReader.parse(text)
    } catch {
        Issue.record("not JSON, \(error): \(text)", sourceLocation: sourceLocation)
        return .null
    }
}

/// Returns the parsed output of `body`, which must be JSON without white space between its tokens.
func written(sourceLocation: SourceLocation = #_sourceLocation, _ body: (inout JSONWriter) -> Void) -> JSONValue {
    var writer = JSONWriter()
    body(&writer)
    return json(String(buffer: writer.buffer), sourceLocation: sourceLocation)
}

/// Returns the complete parsed packet for a socket of `reader`. Checks the announced lengths, and that the packet
/// written in pieces is equal.
func packet(
    _ tail: PacketTail, counter: Int64 = 9, reader: UserID = ben.userID, unread: Int64 = 3, total: Int64 = 12,
    sourceLocation: SourceLocation = #_sourceLocation
) -> JSONValue {
    let values = ReaderValues(reader: reader, unread: unread, total: total)
    var buffer = ByteBuffer()
    buffer.writePackets([tail], counter: counter, timestamp: TimestampText(created), values: values)
    var pieces = ByteBuffer()
    for piece in tail.frame(counter: counter, timestamp: TimestampText(created), values: values) {
        pieces.writeImmutableBuffer(piece)
    }
    #expect(pieces == buffer, "the same in pieces", sourceLocation: sourceLocation)
    #expect(buffer.readInteger() == UInt8(0x81), sourceLocation: sourceLocation)
    let short: UInt8 = buffer.readInteger() ?? 0
    let length =
        short == 126
        ? Int(buffer.readInteger() ?? UInt16(0)) : short == 127 ? Int(buffer.readInteger() ?? UInt64(0)) : Int(short)
    #expect(length == buffer.readableBytes, sourceLocation: sourceLocation)
    return json(String(buffer: buffer), sourceLocation: sourceLocation)
}

/// Returns the expected change packet with `body`. Comparison includes the order of members.
func changePacket(_ body: String, counter: Int64 = 9, sourceLocation: SourceLocation = #_sourceLocation) -> JSONValue {
    json(
        "{\"type\":\"change\",\"counter\":\(counter),\"timestamp\":\"2018-05-04T09:30:00.125Z\",\"body\":\(body)}",
        sourceLocation: sourceLocation)
}

/// Returns the code and property of the failure that `body` throws; nil if it throws none.
func failure(_ body: () throws -> Void) -> (code: Failure.Code, property: String?)? {
    do {
        try body()
        return nil
    } catch let failure as Failure {
        if case .property(let name) = failure.detail { return (failure.code, name) }
        return (failure.code, nil)
    } catch {
        return nil
    }
}
