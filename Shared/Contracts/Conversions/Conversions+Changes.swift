// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel
import SwiftProtobuf

extension ProtoOrigin {
    /// Creates an origin. For a change without an origin, leave the field unset.
    public init(_ origin: Change.Origin) {
        self.init()
        connection = origin.connection
        request = origin.request
    }
}

extension Change.Origin {
    /// Creates an origin. Call it only if the field is set; an unset field would yield request 0 of connection 0.
    public init(_ proto: ProtoOrigin) { self.init(connection: proto.connection, request: proto.request) }
}

extension MetadataEffect {
    /// Creates an effect. Without a value, it is a deletion. The path is not validated, because only the database
    /// creates effects.
    public init(_ proto: ProtoMetadataEffect) {
        self.init(path: MetadataPath(trusted: proto.path), value: proto.hasValue ? proto.value : nil)
    }
}

extension ProtoMetadataEffect {
    /// Creates an effect. A deletion has no value; an empty text is a value.
    public init(_ effect: MetadataEffect) {
        self.init()
        path = effect.path.dotted
        if let text = effect.value { value = text }
    }
}

extension Change {
    /// Creates a change.
    /// - Throws: ``ContractViolation`` naming the field, also for an unknown kind of change.
    public init(_ proto: ProtoChange) throws(ContractViolation) {
        var counts: [UserID: UserCounts] = [:]
        for (user, value) in proto.numbers { counts[UserID(trusted: user)] = UserCounts(value) }
        self.init(
            appID: try AppID(contract: proto.appID), conversationID: try ConversationID(contract: proto.conversationID),
            position: Position(proto.position), createdAt: Timestamp(microseconds: proto.createdAt),
            actor: proto.actor.isEmpty ? nil : UserID(trusted: proto.actor),
            origin: proto.hasOrigin ? Origin(proto.origin) : nil,
            messageCount: proto.messageCount, counts: counts,
            content: try Content(proto.content), hiddenFrom: proto.hiddenFrom.map { UserID(trusted: $0) })
    }
}

extension Change.Content {
    init(_ proto: ProtoChange.OneOf_Content?) throws(ContractViolation) {
        switch proto {
        case .conversationCreated(let value):
            self = .conversationCreated(value.hasConversation ? try Conversation(value.conversation) : nil)
        case .participantsChanged(let value):
            self = .participantsChanged(
                added: value.added.map { BasicIdentity($0) }, removed: value.removed.map { UserID(trusted: $0) },
                distinctCleared: value.distinctCleared,
                conversation: value.hasConversation ? try Conversation(value.conversation) : nil)
        case .metadataChanged(let value): self = .metadataChanged(value.effects.map { MetadataEffect($0) })
        case .conversationDeleted: self = .conversationDeleted
        case .messageCreated(let value):
            self = .messageCreated(
                id: try MessageID(contract: value.id), ordinal: value.ordinal,
                value.hasMessage ? try StrataModel.Message(value.message) : nil)
        case .messageDeleted(let value):
            var overrides: [UserID: StrataModel.Message?] = [:]
            for override in value.overrides {
                overrides[UserID(trusted: override.userID)] = .some(
                    override.hasLastMessage ? try StrataModel.Message(override.lastMessage) : nil)
            }
            self = .messageDeleted(
                id: try MessageID(contract: value.id), ordinal: value.ordinal,
                lastMessage: Change.LastMessage(
                    changed: value.lastMessageChanged,
                    message: value.hasLastMessage ? try StrataModel.Message(value.lastMessage) : nil,
                    overrides: overrides))
        case .receipts(let value):
            var receipts: [Change.Receipt] = []
            for receipt in value.receipts {
                receipts.append(
                    Change.Receipt(
                        user: UserID(trusted: receipt.userID), messageID: try MessageID(contract: receipt.messageID),
                        ordinal: receipt.ordinal, status: RecipientStatus(rawValue: Int(receipt.status)) ?? .delivered,
                        sender: receipt.sender.isEmpty ? nil : UserID(trusted: receipt.sender),
                        audience: Change.Receipt.Audience(rawValue: Int(receipt.audience)) ?? .senderAndReader,
                        hiddenFrom: receipt.hiddenFrom.map { UserID(trusted: $0) }))
            }
            self = .receipts(receipts)
        case .allRead(let value):
            self = .allRead(
                user: UserID(trusted: value.userID), upTo: Position(value.upTo),
                audience: value.hasAudience ? value.audience.userIds.map { UserID(trusted: $0) } : nil)
        case .partsChanged(let value):
            self = .partsChanged(
                id: try MessageID(contract: value.id), ordinal: value.ordinal,
                try value.edits.map(Change.PartEdit.init(contract:)),
                value.hasMessage ? try StrataModel.Message(value.message) : nil)
        case nil: throw ContractViolation("Change.content")
        }
    }
}

extension ProtoChange {
    /// Creates the only format in which a change is sent, in responses and on the conversation's channel. Nil bodies
    /// are omitted.
    public init(_ change: Change) {
        self.init()
        appID = Data(change.appID)
        conversationID = Data(change.conversationID)
        position = change.position.rawValue
        createdAt = change.createdAt.microseconds
        if let user = change.actor { actor = user.rawValue }
        if let value = change.origin { origin = ProtoOrigin(value) }
        messageCount = change.messageCount
        for (user, value) in change.counts { numbers[user.rawValue] = ProtoUserNumbers(value) }
        content = OneOf_Content(change.content)
        hiddenFrom = change.hiddenFrom.map(\.rawValue)
    }
}

extension ProtoChange.OneOf_Content {
    init(_ content: Change.Content) {
        switch content {
        case .conversationCreated(let conversation):
            self = .conversationCreated(
                .with { if let conversation { $0.conversation = ProtoConversation(conversation) } })
        case .participantsChanged(let added, let removed, let distinctCleared, let conversation):
            self = .participantsChanged(
                .with {
                    $0.added = added.map { ProtoBasicIdentity($0) }
                    $0.removed = removed.map(\.rawValue)
                    $0.distinctCleared = distinctCleared
                    if let conversation { $0.conversation = ProtoConversation(conversation) }
                })
        case .metadataChanged(let effects):
            self = .metadataChanged(.with { $0.effects = effects.map { ProtoMetadataEffect($0) } })
        case .conversationDeleted: self = .conversationDeleted(.init())
        case .messageCreated(let id, let ordinal, let message):
            self = .messageCreated(
                .with {
                    $0.id = Data(id)
                    $0.ordinal = ordinal
                    if let message { $0.message = ProtoMessage(message) }
                })
        case .messageDeleted(let id, let ordinal, let lastMessage):
            self = .messageDeleted(
                .with {
                    $0.id = Data(id)
                    $0.ordinal = ordinal
                    $0.lastMessageChanged = lastMessage.changed
                    if let message = lastMessage.message { $0.lastMessage = ProtoMessage(message) }
                    $0.overrides = lastMessage.overrides.map { user, message in
                        .with {
                            $0.userID = user.rawValue
                            if let message { $0.lastMessage = ProtoMessage(message) }
                        }
                    }
                })
        case .receipts(let receipts):
            self = .receipts(
                .with {
                    $0.receipts = receipts.map { receipt in
                        .with {
                            $0.userID = receipt.user.rawValue
                            $0.messageID = Data(receipt.messageID)
                            $0.ordinal = receipt.ordinal
                            $0.status = Int32(receipt.status.rawValue)
                            if let sender = receipt.sender { $0.sender = sender.rawValue }
                            $0.audience = Int32(receipt.audience.rawValue)
                            $0.hiddenFrom = receipt.hiddenFrom.map(\.rawValue)
                        }
                    }
                })
        case .allRead(let user, let upTo, let audience):
            self = .allRead(
                .with {
                    $0.userID = user.rawValue
                    $0.upTo = upTo.rawValue
                    if let audience { $0.audience = .with { $0.userIds = audience.map(\.rawValue) } }
                })
        case .partsChanged(let id, let ordinal, let edits, let message):
            self = .partsChanged(
                .with {
                    $0.id = Data(id)
                    $0.ordinal = ordinal
                    $0.edits = edits.map { ProtoChange.PartEdit($0) }
                    if let message { $0.message = ProtoMessage(message) }
                })
        }
    }
}

extension Change.PartEdit {
    init(contract proto: ProtoChange.PartEdit) throws(ContractViolation) {
        guard proto.kind != .allReplaced else {
            self = .allReplaced
            return
        }
        guard let id = UUID(contract: proto.partID) else { throw ContractViolation("PartEdit.part_id") }
        switch proto.kind {
        case .added: self = .added(id)
        case .changed: self = .changed(id)
        case .removed: self = .removed(id, index: Int(proto.index))
        case .allReplaced, .UNRECOGNIZED: throw ContractViolation("PartEdit.kind")
        }
    }
}

extension ProtoChange.PartEdit {
    init(_ edit: Change.PartEdit) {
        self.init()
        switch edit {
        case .added(let id):
            kind = .added
            partID = Data(uuid: id)
        case .changed(let id):
            kind = .changed
            partID = Data(uuid: id)
        case .removed(let id, let place):
            kind = .removed
            partID = Data(uuid: id)
            index = Int32(clamping: place)
        case .allReplaced: kind = .allReplaced
        }
    }
}

extension UserChange {
    /// Creates an entry of a user's own log from a response or a notice.
    ///
    /// An entry of an unknown kind becomes obsolete: it has a position, but no effect.
    /// - Throws: ``ContractViolation`` naming the field.
    public init(_ proto: ProtoUserChange) throws(ContractViolation) {
        let content: Content
        switch proto.content {
        case .conversationHidden(let value):
            content = .conversationHidden(
                try ConversationID(contract: value.conversationID), upTo: Position(value.upTo), wholly: value.wholly)
        case .conversationShown(let value):
            content = .conversationShown(value.hasView ? try ConversationView(value.view) : nil)
        case .messageHidden(let value):
            content = .messageHidden(
                try MessageID(contract: value.messageID), view: value.hasView ? try ConversationView(value.view) : nil)
        case .identityChanged(let value): content = .identityChanged(Identity(value))
        case .followed(let value): content = .followed(Identity(value))
        case .unfollowed(let user): content = .unfollowed(UserID(trusted: user))
        case .announced(let value): content = .announced(try Announcement(value))
        case .announcementStatus(let value):
            content = .announcementStatus(
                try AnnouncementID(contract: value.announcementID),
                RecipientStatus(rawValue: Int(value.status)) ?? .delivered)
        case .announcementDeleted(let id): content = .announcementDeleted(try AnnouncementID(contract: id))
        case .obsolete: content = .obsolete
        case .messagesHidden(let value):
            content = .messagesHidden(upTo: Position(value.upTo), view: try ConversationView(value.view))
        case .messageDeleted(let value):
            content = .messageDeleted(
                try MessageID(contract: value.messageID), in: try ConversationID(contract: value.conversationID),
                view: value.hasView ? try ConversationView(value.view) : nil)
        case .conversationDeleted(let id): content = .conversationDeleted(try ConversationID(contract: id))
        case .blocksChanged(let value):
            content = .blocksChanged(
                blocked: value.blocked.map { UserID(trusted: $0) },
                unblocked: value.unblocked.map { UserID(trusted: $0) })
        case .blockedBy(let value): content = .blockedBy(UserID(trusted: value.userID), isBlocked: value.isBlocked)
        case nil: content = .obsolete
        }
        self.init(
            appID: try AppID(contract: proto.appID), user: UserID(trusted: proto.userID),
            position: Position(proto.position),
            createdAt: Timestamp(microseconds: proto.createdAt), content: content)
    }
}

extension ProtoUserChange {
    /// Creates the only format in which an entry is sent, in responses and in notices. A nil view is omitted.
    public init(_ change: UserChange) {
        self.init()
        appID = Data(change.appID)
        userID = change.user.rawValue
        position = change.position.rawValue
        createdAt = change.createdAt.microseconds
        switch change.content {
        case .conversationHidden(let id, let upTo, let wholly):
            content = .conversationHidden(
                .with {
                    $0.conversationID = Data(id)
                    $0.upTo = upTo.rawValue
                    $0.wholly = wholly
                })
        case .conversationShown(let view):
            content = .conversationShown(.with { if let view { $0.view = ProtoConversationView(view) } })
        case .messageHidden(let id, let view):
            content = .messageHidden(
                .with {
                    $0.messageID = Data(id)
                    if let view { $0.view = ProtoConversationView(view) }
                })
        case .identityChanged(let identity): content = .identityChanged(ProtoIdentity(identity))
        case .followed(let identity): content = .followed(ProtoIdentity(identity))
        case .unfollowed(let user): content = .unfollowed(user.rawValue)
        case .announced(let announcement): content = .announced(ProtoAnnouncement(announcement))
        case .announcementStatus(let id, let status):
            content = .announcementStatus(
                .with {
                    $0.announcementID = Data(id)
                    $0.status = Int32(status.rawValue)
                })
        case .announcementDeleted(let id): content = .announcementDeleted(Data(id))
        case .obsolete: content = .obsolete(true)
        case .messagesHidden(let upTo, let view):
            content = .messagesHidden(
                .with {
                    $0.upTo = upTo.rawValue
                    $0.view = ProtoConversationView(view)
                })
        case .messageDeleted(let id, let conversation, let view):
            content = .messageDeleted(
                .with {
                    $0.messageID = Data(id)
                    $0.conversationID = Data(conversation)
                    if let view { $0.view = ProtoConversationView(view) }
                })
        case .conversationDeleted(let id): content = .conversationDeleted(Data(id))
        case .blocksChanged(let blocked, let unblocked):
            content = .blocksChanged(
                .with {
                    $0.blocked = blocked.map(\.rawValue)
                    $0.unblocked = unblocked.map(\.rawValue)
                })
        case .blockedBy(let user, let isBlocked):
            content = .blockedBy(
                .with {
                    $0.userID = user.rawValue
                    $0.isBlocked = isBlocked
                })
        }
    }
}
