// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import NIOCore
public import StrataModel
import SwiftProtobuf

/// A message on a conversation's channel.
public enum ConversationPublication: Sendable {
    case change(Change)
    /// A typing signal.
    /// - Parameter goodFor: the time after which the user has finished typing unless another signal arrives; nil:
    ///   unknown, from an older service.
    case typing(TypingSignal, goodFor: Duration?)

    /// Decodes a publication.
    /// - Throws: ``ContractViolation`` or a decoding error of SwiftProtobuf.
    public init(decoding buffer: ByteBuffer) throws { self = try Self.decode(buffer).publication }

    /// Decodes a publication and the database's epoch when it was created. The epoch is empty if the publisher did not
    /// set it.
    /// - Throws: the errors of ``init(decoding:)``.
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
                    conversationID: try ConversationID(contract: proto.conversationID),
                    user: UserID(trusted: proto.userID),
                    action: actions[Int(proto.action)]),
                goodFor: proto.hasGoodForMs ? .milliseconds(Int64(proto.goodForMs)) : nil)
        case nil: throw ContractViolation("ConversationPublication.content")
        }
    }

    /// Returns the bytes to publish.
    ///
    /// - Parameter epoch: the database's epoch as known to this process; empty if unknown.
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
    /// Decodes a notice.
    /// - Throws: ``ContractViolation`` or a decoding error of SwiftProtobuf.
    public init(decoding buffer: ByteBuffer) throws { self = try Self.decode(buffer).notice }

    /// Decodes a notice and the database's epoch when it was created. The epoch is empty if the publisher did not set
    /// it.
    /// - Throws: the errors of ``init(decoding:)``.
    public static func decode(_ buffer: ByteBuffer) throws -> (notice: UserNotice, epoch: String) {
        let proto = try ProtoUserPublication(protobuf: buffer)
        return (try Self(proto), proto.epoch)
    }

    private init(_ proto: ProtoUserPublication) throws {
        let content: Content
        switch proto.content {
        case .added(let value):
            content = .added(try ConversationID(contract: value.conversationID), position: Position(value.position))
        case .change(let value): content = .change(try UserChange(value))
        case .sessionEnded(let value):
            content = .sessionEnded(tokenDigest: value.hasTokenDigest ? [UInt8](value.tokenDigest) : nil)
        case .logged(let value):
            content = .logged(Position(value.position), at: Timestamp(microseconds: value.createdAt))
        case nil: throw ContractViolation("UserPublication.content")
        }
        self.init(appID: try AppID(contract: proto.appID), user: UserID(trusted: proto.userID), content: content)
    }

    /// Returns the bytes to publish.
    ///
    /// - Parameter epoch: see ``ConversationPublication/encoded(epoch:)``.
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
                case .sessionEnded(let digest):
                    $0.sessionEnded = .with { if let digest { $0.tokenDigest = Data(digest) } }
                }
            })
    }
}

/// A change of a user's presence on that user's presence channel, with the real status.
public struct PresencePublication: Hashable, Sendable {
    /// The app in which ``user`` is a user.
    public var appID: AppID
    /// The user. The channel's name contains the user and the app.
    public var user: UserID
    /// The real presence, including `invisible`. Other users are shown ``StrataModel/Presence/forOthers``.
    public var presence: Presence
    /// Creates a publication with the real status.
    public init(appID: AppID, user: UserID, presence: Presence) {
        self.appID = appID
        self.user = user
        self.presence = presence
    }

    /// Decodes a publication.
    /// - Throws: ``ContractViolation`` or a decoding error of SwiftProtobuf.
    public init(decoding buffer: ByteBuffer) throws {
        try self.init(ProtoPresenceChange(protobuf: buffer))
    }
    /// Creates a publication from a presence in a response, which has the same format.
    ///
    /// - Throws: ``ContractViolation`` for an unknown status, or for an app id without 16 bytes.
    public init(_ proto: ProtoPresenceChange) throws(ContractViolation) {
        guard let status = Presence.Status(rawValue: proto.status) else {
            throw ContractViolation("PresenceChange.status")
        }
        self.init(
            appID: try AppID(contract: proto.appID), user: UserID(trusted: proto.userID),
            presence: Presence(
                status: status, lastSeenAt: proto.hasLastSeenAt ? Timestamp(microseconds: proto.lastSeenAt) : nil))
    }
    /// The message for this publication.
    public var proto: ProtoPresenceChange {
        .with {
            $0.appID = Data(appID)
            $0.userID = user.rawValue
            $0.status = presence.status.rawValue
            if let time = presence.lastSeenAt { $0.lastSeenAt = time.microseconds }
        }
    }
    /// Returns the bytes to publish.
    public func encoded() throws -> ByteBuffer { try ByteBuffer(protobuf: proto) }
}

/// The names of the pub/sub channels (docs/architecture.md §6).
public enum Channels {
    /// Returns the channel of a conversation's durable changes and typing signals: `c:{shard}:<uuid>`. The shard is the
    /// Redis hash tag.
    public static func conversation(_ id: ConversationID) -> String { "c:{\(id.shard)}:\(id)" }
    /// Returns the channel of a user's own log and notices: `u:<app>:<user>`. The user id is percent-encoded, because a
    /// `String` equals all its normalized forms: two users would share one subscription.
    public static func user(app: AppID, user: UserID) -> String { "u:\(app):\(user.percentEncoded)" }
    /// Returns the channel of a user's presence, for its subscribers: `p:{shard}:<app>:<user>`. The user id is
    /// percent-encoded, as in ``user(app:user:)``.
    public static func presence(app: AppID, user: UserID) -> String {
        "p:{\(presenceShard(app: app, user: user))}:\(app):\(user.percentEncoded)"
    }

    /// The number of hash tags, for conversations and for users.
    public static let shards = 64
    /// Returns the hash tag of all ephemeral keys of a user: 0 to 63, equal in every process. It is FNV-1a over the
    /// bytes of the app's and the user's id.
    public static func presenceShard(app: AppID, user: UserID) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        withUnsafeBytes(of: app.rawValue.uuid) { $0.forEach(mix) }
        user.rawValue.utf8.forEach(mix)
        return Int((hash ^ (hash >> 32)) & 63)
    }
}
