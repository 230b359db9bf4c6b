// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel
import SwiftProtobuf

/// An error in the format of bytes from another process. Clients cannot cause it.
public struct ContractViolation: Error, Sendable {
    /// The invalid message and field.
    public let field: String
    /// Creates an error with the names of the message and the field, or with the ``StrataModel/ObjectID/path`` of an
    /// identifier.
    public init(_ field: String) { self.field = field }
}

extension Data {
    /// Creates data with the 16 bytes of `uuid`.
    public init(uuid: UUID) { self = Swift.withUnsafeBytes(of: uuid.uuid) { Data($0) } }
    /// Creates data with the 16 bytes of an identifier.
    public init(_ id: some ObjectID) { self.init(uuid: id.rawValue) }
}

extension UUID {
    /// Creates a UUID. Returns nil unless there are exactly 16 bytes.
    public init?(contract bytes: Data) {
        guard bytes.count == 16 else { return nil }
        self.init(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }
}

extension ObjectID {
    /// Creates an identifier.
    /// - Throws: ``ContractViolation`` unless there are exactly 16 bytes.
    public init(contract bytes: Data) throws(ContractViolation) {
        guard let uuid = UUID(contract: bytes) else { throw ContractViolation(Self.path) }
        self.init(rawValue: uuid)
    }
}

extension BasicIdentity {
    /// Creates an identity without validating the user id. An empty name is preserved; only an unset one is nil.
    public init(_ proto: ProtoBasicIdentity) {
        self.init(
            userID: UserID(trusted: proto.userID), displayName: proto.hasDisplayName ? proto.displayName : nil,
            avatarURL: proto.hasAvatarURL ? proto.avatarURL : nil)
    }
}

extension ProtoBasicIdentity {
    /// Creates the message for an identity. Nil values are omitted.
    public init(_ identity: BasicIdentity) {
        self.init()
        userID = identity.userID.rawValue
        if let value = identity.displayName { displayName = value }
        if let value = identity.avatarURL { avatarURL = value }
    }
}

extension Identity {
    /// Creates an identity. Unset properties are nil, except for the metadata, which is empty.
    public init(_ proto: ProtoIdentity) {
        self.init(
            basic: BasicIdentity(proto.basic), firstName: proto.hasFirstName ? proto.firstName : nil,
            lastName: proto.hasLastName ? proto.lastName : nil,
            phoneNumber: proto.hasPhoneNumber ? proto.phoneNumber : nil,
            emailAddress: proto.hasEmailAddress ? proto.emailAddress : nil,
            publicKey: proto.hasPublicKey ? proto.publicKey : nil,
            kind: proto.isBot ? .bot : .user, metadata: proto.metadata)
    }
}

extension ProtoIdentity {
    /// Creates the message for an identity. Nil values are omitted, and the kind is a flag.
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
    /// Creates a part without validating its type and body.
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
    /// Creates the message for a part. Nil values are omitted.
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
    /// Creates a message with its parts. An unknown status becomes `sent`.
    ///
    /// - Throws: ``ContractViolation`` unless all ids have 16 bytes.
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
    /// Creates the message for a message. Parts and recipients keep their order, so that recipients stay sorted.
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
    /// Creates the tree of the leaves without validating their paths.
    public init(_ proto: ProtoTree) { self.init(leaves: proto.modelLeaves) }
}

extension ProtoTree {
    /// The leaves as values of the model.
    public var modelLeaves: [MetadataLeaf] {
        leaves.map { MetadataLeaf(path: MetadataPath(trusted: $0.path), value: $0.value) }
    }
    /// Creates a tree with the leaves in this order. Without leaves it is an empty tree, not an unset one.
    public init(_ leaves: [MetadataLeaf]) {
        self.init()
        self.leaves = leaves.map { leaf in
            ProtoLeaf.with {
                $0.path = leaf.path.dotted
                $0.value = leaf.value
            }
        }
    }
    /// Creates a tree with its leaves in byte order of the keys.
    public init(_ tree: MetadataTree) { self.init(tree.leaves) }
}

extension MetadataOperation {
    /// Creates an operation without validating paths and values. Without `set` it is a deletion.
    public init(_ proto: ProtoMetadataOperation) {
        let path = MetadataPath(trusted: proto.path)
        self = proto.hasSet ? .set(path, leaves: proto.set.modelLeaves) : .delete(path)
    }
}

extension ProtoMetadataOperation {
    /// Creates the message for an operation. A deletion has no `set`. A `set` without leaves is also a deletion, and is
    /// sent unchanged.
    public init(_ operation: MetadataOperation) {
        self.init()
        path = operation.path.dotted
        if case .set(_, let leaves) = operation { set = ProtoTree(leaves) }
    }
}

extension Conversation {
    /// Creates a conversation. If the metadata field is unset, the metadata is nil (not loaded), which differs from an
    /// empty tree.
    ///
    /// - Throws: ``ContractViolation`` unless the id has 16 bytes.
    public init(_ proto: ProtoConversation) throws(ContractViolation) {
        self.init(
            id: try ConversationID(contract: proto.id), createdAt: Timestamp(microseconds: proto.createdAt),
            isDistinct: proto.isDistinct,
            participants: proto.participants.map { BasicIdentity($0) },
            metadata: proto.hasMetadata ? MetadataTree(proto.metadata) : nil,
            position: Position(proto.position), epoch: proto.epoch,
            receiptPolicy: ReceiptPolicy(rawValue: proto.receiptPolicy))
    }
}

extension ProtoConversation {
    /// Creates the message for a conversation. Metadata that is not loaded is omitted.
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

extension UserCounts {
    /// Creates counts. The position is the number of a change, as in all calls between services.
    public init(_ proto: ProtoUserNumbers) {
        self.init(excluded: proto.uncounted, hidden: proto.hidden, position: Position(proto.position))
    }
}

extension ProtoUserNumbers {
    /// Creates the message for counts. All fields are set, because 0 is a valid value.
    public init(_ counts: UserCounts) {
        self.init()
        uncounted = counts.excluded
        hidden = counts.hidden
        position = counts.position.rawValue
    }
}

extension ConversationView {
    /// Creates a view. Without a last message, the user sees none.
    ///
    /// - Throws: ``ContractViolation`` unless all ids have 16 bytes.
    public init(_ proto: ProtoConversationView) throws(ContractViolation) {
        self.init(
            conversation: try Conversation(proto.conversation), isParticipant: proto.isParticipant,
            lastMessage: proto.hasLastMessage ? try StrataModel.Message(proto.lastMessage) : nil,
            counts: UserCounts(proto.numbers),
            messageCount: proto.messageCount)
    }
}

extension ProtoConversationView {
    /// Creates the message for a view. A nil last message and metadata that is not loaded are omitted.
    public init(_ view: ConversationView) {
        self.init()
        conversation = ProtoConversation(view.conversation)
        isParticipant = view.isParticipant
        if let message = view.lastMessage { lastMessage = ProtoMessage(message) }
        numbers = ProtoUserNumbers(view.counts)
        messageCount = view.messageCount
    }
}

extension Announcement {
    /// Creates an announcement as its recipient sees it. An unknown status becomes `sent`.
    ///
    /// - Throws: ``ContractViolation`` unless all ids have 16 bytes and there is a sender.
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
            sentAt: Timestamp(microseconds: proto.sentAt), parts: parts,
            status: RecipientStatus(rawValue: Int(proto.status)) ?? .sent,
            notification: proto.hasNotification ? proto.notification : nil)
    }
}

extension ProtoAnnouncement {
    /// Creates the message for an announcement. A nil notification is omitted.
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
