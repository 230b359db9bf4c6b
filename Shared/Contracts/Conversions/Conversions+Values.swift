// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import Model
import SwiftProtobuf

/// Bytes from another process that do not have the shape they must have. Never caused by a client.
public struct ContractViolation: Error, Sendable {
    /// The message and field at fault.
    public let field: String
    public init(_ field: String) { self.field = field }
}

extension Data {
    /// The 16 bytes of `uuid`.
    public init(uuid: UUID) { self = Swift.withUnsafeBytes(of: uuid.uuid) { Data($0) } }
    /// The 16 bytes of an identifier.
    public init(_ id: some ObjectID) { self.init(uuid: id.rawValue) }
}

extension UUID {
    /// Nil unless there are exactly 16 bytes.
    public init?(contract bytes: Data) {
        guard bytes.count == 16 else { return nil }
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        Swift.withUnsafeMutableBytes(of: &value) { target in _ = bytes.copyBytes(to: target) }
        self.init(uuid: value)
    }
}

extension ObjectID {
    /// - Throws: ``ContractViolation`` unless there are exactly 16 bytes.
    public init(contract bytes: Data) throws(ContractViolation) {
        guard let uuid = UUID(contract: bytes) else { throw ContractViolation(Self.path) }
        self.init(rawValue: uuid)
    }
}

extension BasicIdentity {
    public init(_ proto: ProtoBasicIdentity) {
        self.init(
            userID: UserID(trusted: proto.userID), displayName: proto.hasDisplayName ? proto.displayName : nil,
            avatarURL: proto.hasAvatarURL ? proto.avatarURL : nil)
    }
}

extension ProtoBasicIdentity {
    public init(_ identity: BasicIdentity) {
        self.init()
        userID = identity.userID.rawValue
        if let value = identity.displayName { displayName = value }
        if let value = identity.avatarURL { avatarURL = value }
    }
}

extension Identity {
    public init(_ proto: ProtoIdentity) {
        self.init(
            basic: BasicIdentity(proto.basic), firstName: proto.hasFirstName ? proto.firstName : nil,
            lastName: proto.hasLastName ? proto.lastName : nil, phoneNumber: proto.hasPhoneNumber ? proto.phoneNumber : nil,
            emailAddress: proto.hasEmailAddress ? proto.emailAddress : nil, publicKey: proto.hasPublicKey ? proto.publicKey : nil,
            kind: proto.isBot ? .bot : .user, metadata: proto.metadata)
    }
}

extension ProtoIdentity {
    public init(_ identity: Identity) {
        self.init()
        basic = ProtoBasicIdentity(identity.basic)
        if let value = identity.firstName { firstName = value }
        if let value = identity.lastName { lastName = value }
        if let value = identity.phoneNumber { phoneNumber = value }
        if let value = identity.emailAddress { emailAddress = value }
        if let value = identity.publicKey { publicKey = value }
        isBot = identity.kind == .bot
        metadata = identity.metadata
    }
}

extension MessagePart {
    public init(_ proto: ProtoMessagePart) throws(ContractViolation) {
        guard let id = UUID(contract: proto.id) else { throw ContractViolation("MessagePart.id") }
        self.init(
            id: id, mimeType: proto.mimeType, body: proto.hasBody ? proto.body : nil,
            encoding: proto.hasEncoding ? proto.encoding : nil, size: Int(proto.size))
    }
}

extension ProtoMessagePart {
    public init(_ part: MessagePart) {
        self.init()
        id = Data(uuid: part.id)
        mimeType = part.mimeType
        if let value = part.body { body = value }
        if let value = part.encoding { encoding = value }
        size = Int64(part.size)
    }
}

extension Model.Message {
    public init(_ proto: ProtoMessage) throws(ContractViolation) {
        var parts: [MessagePart] = []
        parts.reserveCapacity(proto.parts.count)
        for part in proto.parts { parts.append(try MessagePart(part)) }
        self.init(
            id: try MessageID(contract: proto.id), conversationID: try ConversationID(contract: proto.conversationID),
            position: Position(proto.position), ordinal: proto.ordinal, sender: BasicIdentity(proto.sender),
            sentAt: Timestamp(microseconds: proto.sentAt), parts: parts,
            recipients: proto.recipients.map {
                Recipient(userID: UserID(trusted: $0.userID), status: RecipientStatus(rawValue: Int($0.status)) ?? .sent)
            },
            notification: proto.hasNotification ? proto.notification : nil)
    }
}

extension ProtoMessage {
    public init(_ message: Model.Message) {
        self.init()
        id = Data(message.id)
        conversationID = Data(message.conversationID)
        position = message.position.rawValue
        ordinal = message.ordinal
        sender = ProtoBasicIdentity(message.sender)
        sentAt = message.sentAt.microseconds
        parts = message.parts.map { ProtoMessagePart($0) }
        recipients = message.recipients.map { recipient in
            ProtoRecipient.with {
                $0.userID = recipient.userID.rawValue
                $0.status = Int32(recipient.status.rawValue)
            }
        }
        if let value = message.notification { notification = value }
    }
}

extension MetadataTree {
    public init(_ proto: ProtoTree) { self.init(leaves: proto.modelLeaves) }
}

extension ProtoTree {
    /// The leaves as the model has them.
    public var modelLeaves: [MetadataLeaf] { leaves.map { MetadataLeaf(path: MetadataPath(trusted: $0.path), value: $0.value) } }
    public init(_ leaves: [MetadataLeaf]) {
        self.init()
        self.leaves = leaves.map { leaf in
            ProtoLeaf.with {
                $0.path = leaf.path.dotted
                $0.value = leaf.value
            }
        }
    }
    public init(_ tree: MetadataTree) { self.init(tree.leaves) }
}

extension MetadataOperation {
    public init(_ proto: ProtoMetadataOperation) {
        let path = MetadataPath(trusted: proto.path)
        self = proto.hasSet ? .set(path, leaves: proto.set.modelLeaves) : .delete(path)
    }
}

extension ProtoMetadataOperation {
    public init(_ operation: MetadataOperation) {
        self.init()
        path = operation.path.dotted
        if case .set(_, let leaves) = operation { set = ProtoTree(leaves) }
    }
}

extension Conversation {
    public init(_ proto: ProtoConversation) throws(ContractViolation) {
        self.init(
            id: try ConversationID(contract: proto.id), createdAt: Timestamp(microseconds: proto.createdAt), isDistinct: proto.isDistinct,
            participants: proto.participants.map { BasicIdentity($0) }, metadata: proto.hasMetadata ? MetadataTree(proto.metadata) : nil,
            position: Position(proto.position))
    }
}

extension ProtoConversation {
    public init(_ conversation: Conversation) {
        self.init()
        id = Data(conversation.id)
        createdAt = conversation.createdAt.microseconds
        isDistinct = conversation.isDistinct
        participants = conversation.participants.map { ProtoBasicIdentity($0) }
        if let tree = conversation.metadata { metadata = ProtoTree(tree) }
        position = conversation.position.rawValue
    }
}

extension UserNumbers {
    public init(_ proto: ProtoUserNumbers) {
        self.init(uncounted: proto.uncounted, hidden: proto.hidden, position: Position(proto.position))
    }
}

extension ProtoUserNumbers {
    public init(_ numbers: UserNumbers) {
        self.init()
        uncounted = numbers.uncounted
        hidden = numbers.hidden
        position = numbers.position.rawValue
    }
}

extension ConversationView {
    public init(_ proto: ProtoConversationView) throws(ContractViolation) {
        self.init(
            conversation: try Conversation(proto.conversation), isParticipant: proto.isParticipant,
            lastMessage: proto.hasLastMessage ? try Model.Message(proto.lastMessage) : nil, numbers: UserNumbers(proto.numbers),
            messageCount: proto.messageCount)
    }
}

extension ProtoConversationView {
    public init(_ view: ConversationView) {
        self.init()
        conversation = ProtoConversation(view.conversation)
        isParticipant = view.isParticipant
        if let message = view.lastMessage { lastMessage = ProtoMessage(message) }
        numbers = ProtoUserNumbers(view.numbers)
        messageCount = view.messageCount
    }
}
