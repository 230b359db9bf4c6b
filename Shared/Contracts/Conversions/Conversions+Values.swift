// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel
import SwiftProtobuf

/// Bytes from another process that do not have the shape they must have. Never caused by a client.
public struct ContractViolation: Error, Sendable {
    /// The message and field at fault.
    public let field: String
    /// Names the message and the field; for an identifier, its ``StrataModel/ObjectID/path``.
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
        self.init(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
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
    /// The user id is not checked again; an empty name stays one, and only an absent one is nil.
    public init(_ proto: ProtoBasicIdentity) {
        self.init(
            userID: UserID(trusted: proto.userID), displayName: proto.hasDisplayName ? proto.displayName : nil,
            avatarURL: proto.hasAvatarURL ? proto.avatarURL : nil)
    }
}

extension ProtoBasicIdentity {
    /// Leaves out what is nil.
    public init(_ identity: BasicIdentity) {
        self.init()
        userID = identity.userID.rawValue
        if let value = identity.displayName { displayName = value }
        if let value = identity.avatarURL { avatarURL = value }
    }
}

extension Identity {
    /// Absent properties are nil, except the metadata, which is empty.
    public init(_ proto: ProtoIdentity) {
        self.init(
            basic: BasicIdentity(proto.basic), firstName: proto.hasFirstName ? proto.firstName : nil,
            lastName: proto.hasLastName ? proto.lastName : nil, phoneNumber: proto.hasPhoneNumber ? proto.phoneNumber : nil,
            emailAddress: proto.hasEmailAddress ? proto.emailAddress : nil, publicKey: proto.hasPublicKey ? proto.publicKey : nil,
            kind: proto.isBot ? .bot : .user, metadata: proto.metadata)
    }
}

extension ProtoIdentity {
    /// Leaves out what is nil; the kind travels as a flag.
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
    /// The part as it was sent; its type and body are not checked again.
    ///
    /// - Throws: ``ContractViolation`` unless the id has 16 bytes.
    public init(_ proto: ProtoMessagePart) throws(ContractViolation) {
        guard let id = UUID(contract: proto.id) else { throw ContractViolation("MessagePart.id") }
        self.init(
            id: id, mimeType: proto.mimeType, body: proto.hasBody ? proto.body : nil,
            encoding: proto.hasEncoding ? proto.encoding : nil, size: Int(proto.size),
            contentID: proto.hasContentID ? try ContentID(contract: proto.contentID) : nil,
            updatedAt: proto.hasUpdatedAt ? Timestamp(microseconds: proto.updatedAt) : nil,
            statedSize: proto.hasStatedSize ? Int(proto.statedSize) : nil)
    }
}

extension ProtoMessagePart {
    /// The same bytes that are stored; body and encoding are left out where they are nil.
    public init(_ part: MessagePart) {
        self.init()
        id = Data(uuid: part.id)
        mimeType = part.mimeType
        if let value = part.body { body = value }
        if let value = part.encoding { encoding = value }
        size = Int64(part.size)
        if let value = part.contentID { contentID = Data(value) }
        if let value = part.updatedAt { updatedAt = value.microseconds }
        if let value = part.statedSize { statedSize = Int64(value) }
    }
}

extension StrataModel.Message {
    /// A message with its parts; a status this version does not know counts as `sent`.
    ///
    /// - Throws: ``ContractViolation`` unless all its ids have 16 bytes.
    public init(_ proto: ProtoMessage) throws(ContractViolation) {
        var parts: [MessagePart] = []
        parts.reserveCapacity(proto.parts.count)
        for part in proto.parts { parts.append(try MessagePart(part)) }
        self.init(
            id: try MessageID(contract: proto.id), conversationID: try ConversationID(contract: proto.conversationID),
            position: Position(proto.position), ordinal: proto.ordinal,
            sender: proto.hasSenderName ? .name(proto.senderName) : .user(BasicIdentity(proto.sender)),
            sentAt: Timestamp(microseconds: proto.sentAt), parts: parts,
            recipients: proto.recipients.map {
                Recipient(
                    userID: UserID(trusted: $0.userID), status: RecipientStatus(rawValue: Int($0.status)) ?? .sent,
                    shownStatus: $0.hasShownStatus ? RecipientStatus(rawValue: Int($0.shownStatus)) : nil)
            },
            notification: proto.hasNotification ? proto.notification : nil,
            updatedAt: proto.hasUpdatedAt ? Timestamp(microseconds: proto.updatedAt) : nil,
            receiptPolicy: ReceiptPolicy(rawValue: proto.receiptPolicy))
    }
}

extension ProtoMessage {
    /// Parts and recipients in their order, the recipients as sorted as they were.
    public init(_ message: StrataModel.Message) {
        self.init()
        id = Data(message.id)
        conversationID = Data(message.conversationID)
        position = message.position.rawValue
        ordinal = message.ordinal
        switch message.sender {
        case .name(let name): senderName = name
        case .user(let identity): sender = ProtoBasicIdentity(identity)
        }
        sentAt = message.sentAt.microseconds
        parts = message.parts.map { ProtoMessagePart($0) }
        recipients = message.recipients.map { recipient in
            ProtoRecipient.with {
                $0.userID = recipient.userID.rawValue
                $0.status = Int32(recipient.status.rawValue)
                if recipient.shownStatus != recipient.status { $0.shownStatus = Int32(recipient.shownStatus.rawValue) }
            }
        }
        if let value = message.notification { notification = value }
        if let value = message.updatedAt { updatedAt = value.microseconds }
        receiptPolicy = message.receiptPolicy.rawValue
    }
}

extension MetadataTree {
    /// The tree of the leaves, whose paths are not checked again.
    public init(_ proto: ProtoTree) { self.init(leaves: proto.modelLeaves) }
}

extension ProtoTree {
    /// The leaves as the model has them.
    public var modelLeaves: [MetadataLeaf] { leaves.map { MetadataLeaf(path: MetadataPath(trusted: $0.path), value: $0.value) } }
    /// In the order given; without any it is an empty tree, not an absent one.
    public init(_ leaves: [MetadataLeaf]) {
        self.init()
        self.leaves = leaves.map { leaf in
            ProtoLeaf.with {
                $0.path = leaf.path.dotted
                $0.value = leaf.value
            }
        }
    }
    /// The leaves by path, in byte order of the keys.
    public init(_ tree: MetadataTree) { self.init(tree.leaves) }
}

extension MetadataOperation {
    /// Without `set` it is a deletion; paths and values are not checked here.
    public init(_ proto: ProtoMetadataOperation) {
        let path = MetadataPath(trusted: proto.path)
        self = proto.hasSet ? .set(path, leaves: proto.set.modelLeaves) : .delete(path)
    }
}

extension ProtoMetadataOperation {
    /// A deletion has no `set`; a `set` without leaves is one too, and travels as it is.
    public init(_ operation: MetadataOperation) {
        self.init()
        path = operation.path.dotted
        if case .set(_, let leaves) = operation { set = ProtoTree(leaves) }
    }
}

extension Conversation {
    /// The conversation, its metadata nil (not loaded) where the field is absent, which is not the same as an empty tree.
    ///
    /// - Throws: ``ContractViolation`` unless the id has 16 bytes.
    public init(_ proto: ProtoConversation) throws(ContractViolation) {
        self.init(
            id: try ConversationID(contract: proto.id), createdAt: Timestamp(microseconds: proto.createdAt), isDistinct: proto.isDistinct,
            participants: proto.participants.map { BasicIdentity($0) }, metadata: proto.hasMetadata ? MetadataTree(proto.metadata) : nil,
            position: Position(proto.position), epoch: proto.epoch, receiptPolicy: ReceiptPolicy(rawValue: proto.receiptPolicy))
    }
}

extension ProtoConversation {
    /// Leaves out metadata that is not loaded.
    public init(_ conversation: Conversation) {
        self.init()
        id = Data(conversation.id)
        createdAt = conversation.createdAt.microseconds
        isDistinct = conversation.isDistinct
        participants = conversation.participants.map { ProtoBasicIdentity($0) }
        if let tree = conversation.metadata { metadata = ProtoTree(tree) }
        position = conversation.position.rawValue
        epoch = conversation.epoch
        receiptPolicy = conversation.receiptPolicy.rawValue
    }
}

extension UserNumbers {
    /// The position counts changes, as everywhere between the services.
    public init(_ proto: ProtoUserNumbers) {
        self.init(uncounted: proto.uncounted, hidden: proto.hidden, position: Position(proto.position))
    }
}

extension ProtoUserNumbers {
    /// All three fields: for each of them 0 is a value.
    public init(_ numbers: UserNumbers) {
        self.init()
        uncounted = numbers.uncounted
        hidden = numbers.hidden
        position = numbers.position.rawValue
    }
}

extension ConversationView {
    /// A view without a last message is one of a user who sees none.
    ///
    /// - Throws: ``ContractViolation`` unless all ids in it have 16 bytes.
    public init(_ proto: ProtoConversationView) throws(ContractViolation) {
        self.init(
            conversation: try Conversation(proto.conversation), isParticipant: proto.isParticipant,
            lastMessage: proto.hasLastMessage ? try StrataModel.Message(proto.lastMessage) : nil, numbers: UserNumbers(proto.numbers),
            messageCount: proto.messageCount)
    }
}

extension ProtoConversationView {
    /// Leaves out a last message that is nil, and metadata that is not loaded.
    public init(_ view: ConversationView) {
        self.init()
        conversation = ProtoConversation(view.conversation)
        isParticipant = view.isParticipant
        if let message = view.lastMessage { lastMessage = ProtoMessage(message) }
        numbers = ProtoUserNumbers(view.numbers)
        messageCount = view.messageCount
    }
}

extension Announcement {
    /// As its recipient sees it; a status this version does not know counts as `sent`.
    ///
    /// - Throws: ``ContractViolation`` unless its ids have 16 bytes and it has a sender.
    public init(_ proto: ProtoAnnouncement) throws(ContractViolation) {
        let sender: MessageSender
        switch proto.sender {
        case .senderName(let name): sender = .name(name)
        case .senderIdentity(let identity): sender = .user(BasicIdentity(identity))
        case nil: throw ContractViolation("Announcement.sender")
        }
        var parts: [MessagePart] = []
        for part in proto.parts { parts.append(try MessagePart(part)) }
        self.init(
            id: try AnnouncementID(contract: proto.id), position: Position(proto.position), sender: sender,
            sentAt: Timestamp(microseconds: proto.sentAt), parts: parts, status: RecipientStatus(rawValue: Int(proto.status)) ?? .sent,
            notification: proto.hasNotification ? proto.notification : nil)
    }
}

extension ProtoAnnouncement {
    /// Leaves out a notification that is nil.
    public init(_ announcement: Announcement) {
        self.init()
        id = Data(announcement.id)
        position = announcement.position.rawValue
        switch announcement.sender {
        case .name(let name): senderName = name
        case .user(let identity): senderIdentity = ProtoBasicIdentity(identity)
        }
        sentAt = announcement.sentAt.microseconds
        parts = announcement.parts.map { ProtoMessagePart($0) }
        status = Int32(announcement.status.rawValue)
        if let value = announcement.notification { notification = value }
    }
}
