// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import NIOCore
public import StrataModel
import SwiftProtobuf

/// What a conversation's channel carries.
public enum ConversationPublication: Sendable {
    case change(Change)
    /// - Parameter goodFor: If nothing more is heard of this typist for so long, they have finished; nil: an older service does not say.
    case typing(TypingSignal, goodFor: Duration?)

    /// - Throws: ``ContractViolation`` or a decoding error of SwiftProtobuf, for bytes that are no publication.
    public init(decoding buffer: ByteBuffer) throws { self = try Self.decode(buffer).publication }

    /// Decodes a publication, and the epoch that its publisher knew when it was made; empty if that did not say.
    /// - Throws: as ``init(decoding:)``.
    public static func decode(_ buffer: ByteBuffer) throws -> (publication: ConversationPublication, epoch: String) {
        let proto = try ProtoConversationPublication(protobuf: buffer)
        return (try Self(proto), proto.epoch)
    }

    private init(_ proto: ProtoConversationPublication) throws {
        switch proto.content {
        case .change(let proto): self = .change(try Change(proto))
        case .typing(let proto):
            let actions = TypingAction.allCases
            guard actions.indices.contains(Int(proto.action)) else { throw ContractViolation("TypingSignal.action") }
            self = .typing(
                TypingSignal(
                    conversationID: try ConversationID(contract: proto.conversationID), user: UserID(trusted: proto.userID),
                    action: actions[Int(proto.action)]), goodFor: proto.hasGoodForMs ? .milliseconds(Int64(proto.goodForMs)) : nil)
        case nil: throw ContractViolation("ConversationPublication.content")
        }
    }

    /// The bytes to publish.
    ///
    /// - Parameter epoch: of the database in which it happened, as far as this process knows; empty if it does not.
    public func encoded(epoch: String = "") throws -> ByteBuffer {
        var proto = ProtoConversationPublication()
        proto.epoch = epoch
        switch self {
        case .change(let change): proto.content = .change(ProtoChange(change))
        case .typing(let signal, let goodFor):
            proto.content = .typing(
                .with {
                    $0.conversationID = Data(signal.conversationID)
                    $0.userID = signal.user.rawValue
                    $0.action = Int32(TypingAction.allCases.firstIndex(of: signal.action) ?? 0)
                    if let goodFor {
                        let (seconds, attoseconds) = goodFor.components
                        $0.goodForMs = UInt32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
                    }
                })
        }
        return try ByteBuffer(protobuf: proto)
    }
}

extension UserNotice {
    /// - Throws: ``ContractViolation`` or a decoding error of SwiftProtobuf, for bytes that are no notice.
    public init(decoding buffer: ByteBuffer) throws { self = try Self.decode(buffer).notice }

    /// Decodes a notice, and the epoch that its publisher knew when it was made; empty if that did not say.
    /// - Throws: as ``init(decoding:)``.
    public static func decode(_ buffer: ByteBuffer) throws -> (notice: UserNotice, epoch: String) {
        let proto = try ProtoUserPublication(protobuf: buffer)
        return (try Self(proto), proto.epoch)
    }

    private init(_ proto: ProtoUserPublication) throws {
        let content: Content
        switch proto.content {
        case .added(let value): content = .added(try ConversationID(contract: value.conversationID), position: Position(value.position))
        case .change(let value): content = .change(try UserChange(value))
        case .sessionEnded(let value): content = .sessionEnded(tokenDigest: value.hasTokenDigest ? [UInt8](value.tokenDigest) : nil)
        case .logged(let value): content = .logged(Position(value.position), at: Timestamp(microseconds: value.createdAt))
        case nil: throw ContractViolation("UserPublication.content")
        }
        self.init(appID: try AppID(contract: proto.appID), user: UserID(trusted: proto.userID), content: content)
    }

    /// The bytes to publish.
    ///
    /// - Parameter epoch: as for ``ConversationPublication/encoded(epoch:)``.
    public func encoded(epoch: String = "") throws -> ByteBuffer {
        try ByteBuffer(
            protobuf: ProtoUserPublication.with {
                $0.epoch = epoch
                $0.appID = Data(appID)
                $0.userID = user.rawValue
                switch content {
                case .added(let id, let position):
                    $0.added = .with {
                        $0.conversationID = Data(id)
                        $0.position = position.rawValue
                    }
                case .change(let change): $0.change = ProtoUserChange(change)
                case .logged(let position, let time):
                    $0.logged = .with {
                        $0.position = position.rawValue
                        $0.createdAt = time.microseconds
                    }
                case .sessionEnded(let digest): $0.sessionEnded = .with { if let digest { $0.tokenDigest = Data(digest) } }
                }
            })
    }
}

/// A change of a user's presence, as published on that user's presence channel. Holds the real status.
public struct PresencePublication: Hashable, Sendable {
    /// The app in which ``user`` is a user.
    public var appID: AppID
    /// The user whose presence it is. The channel's name has the user and the app in it.
    public var user: UserID
    /// As it is, `invisible` included: others are shown ``StrataModel/Presence/forOthers``.
    public var presence: Presence
    /// Takes the real status.
    public init(appID: AppID, user: UserID, presence: Presence) {
        self.appID = appID
        self.user = user
        self.presence = presence
    }

    /// - Throws: ``ContractViolation`` or a decoding error of SwiftProtobuf.
    public init(decoding buffer: ByteBuffer) throws {
        try self.init(ProtoPresenceChange(protobuf: buffer))
    }
    /// One of the presences in an answer, which have the form of a publication.
    ///
    /// - Throws: ``ContractViolation`` for a status this version does not know, or an app's id that is not 16 bytes.
    public init(_ proto: ProtoPresenceChange) throws(ContractViolation) {
        guard let status = Presence.Status(rawValue: proto.status) else { throw ContractViolation("PresenceChange.status") }
        self.init(
            appID: try AppID(contract: proto.appID), user: UserID(trusted: proto.userID),
            presence: Presence(status: status, lastSeenAt: proto.hasLastSeenAt ? Timestamp(microseconds: proto.lastSeenAt) : nil))
    }
    /// As it travels.
    public var proto: ProtoPresenceChange {
        .with {
            $0.appID = Data(appID)
            $0.userID = user.rawValue
            $0.status = presence.status.rawValue
            if let time = presence.lastSeenAt { $0.lastSeenAt = time.microseconds }
        }
    }
    /// The bytes to publish.
    public func encoded() throws -> ByteBuffer { try ByteBuffer(protobuf: proto) }
}

/// The names of the pub/sub channels and of nothing else (docs/architecture.md §6).
public enum Channels {
    /// A conversation's durable changes and its typing: `c:{shard}:<uuid>`, the shard being the Redis hash tag.
    public static func conversation(_ id: ConversationID) -> String { "c:{\(id.shard)}:\(id)" }
    /// A user's own log and notices: `u:<app>:<user>`. The user id is percent-encoded, because a `String` equals all of its normalized forms: two users
    /// would share one subscription.
    public static func user(app: AppID, user: UserID) -> String { "u:\(app):\(user.percentEncoded)" }
    /// A user's presence, for those who subscribed: `p:{shard}:<app>:<user>`. The user id is percent-encoded, as in ``user(app:user:)``.
    public static func presence(app: AppID, user: UserID) -> String {
        "p:{\(presenceShard(app: app, user: user))}:\(app):\(user.percentEncoded)"
    }

    /// How many hash tags there are, for conversations and for users.
    public static let shards = 64
    /// The hash tag of everything ephemeral about a user, 0 to 63: the same in every process (FNV-1a over the app's and the user's bytes).
    public static func presenceShard(app: AppID, user: UserID) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        withUnsafeBytes(of: app.rawValue.uuid) { $0.forEach(mix) }
        user.rawValue.utf8.forEach(mix)
        return Int((hash ^ (hash >> 32)) & 63)
    }
}
