// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// An identifier that is a UUID of one kind of object, so that a message's id can never stand where a conversation's is meant.
public protocol ObjectID: RawRepresentable<UUID>, Hashable, Sendable, CustomStringConvertible {
    /// The word before the UUID in a `layer:///` id, for example `conversations`.
    static var path: String { get }
    init(rawValue: UUID)
}

extension ObjectID {
    /// A fresh random identifier.
    public static func random() -> Self { Self(rawValue: UUID()) }

    /// The UUID in lower case, as the database and every URL spell it.
    public var description: String { rawValue.lowercaseText }

    /// The identifier as the wire spells it: `layer:///<path>/<uuid>`.
    public var layerID: String { "layer:///\(Self.path)/\(description)" }

    /// Reads a bare UUID or a `layer:///<path>/<uuid>` id (also with two slashes, as old documents spell it); nil for anything else.
    public init?(parsing text: some StringProtocol) {
        guard let uuid = LayerID.uuid(text, paths: [Self.path]) else { return nil }
        self.init(rawValue: uuid)
    }
}

/// The spelling of ids on the wire.
enum LayerID {
    /// Reads a UUID alone or behind `layer:///<path>/`, for one of these paths.
    static func uuid(_ text: some StringProtocol, paths: [String]) -> UUID? {
        text.utf8.withContiguousStorageIfAvailable { uuid($0, paths: paths) } ?? Array(text.utf8).withUnsafeBufferPointer { uuid($0, paths: paths) }
    }

    private static func uuid(_ bytes: UnsafeBufferPointer<UInt8>, paths: [String]) -> UUID? {
        guard bytes.count >= 36, let uuid = UUID(bytes: UnsafeBufferPointer(rebasing: bytes.suffix(36))) else { return nil }
        let prefix = UnsafeBufferPointer(rebasing: bytes.dropLast(36))
        return prefix.isEmpty || paths.contains { isPrefix(prefix, of: $0) } ? uuid : nil
    }

    /// Whether `text` is `layer:///<path>/`, or the same with two slashes.
    static func isPrefix(_ text: some Collection<UInt8>, of path: String) -> Bool {
        text.withContiguousStorageIfAvailable { isPrefix($0, of: path) } ?? Array(text).withUnsafeBufferPointer { isPrefix($0, of: path) }
    }

    private static func isPrefix(_ text: UnsafeBufferPointer<UInt8>, of path: String) -> Bool {
        let scheme: StaticString = "layer://"
        let length = path.utf8.count
        guard text.count > scheme.utf8CodeUnitCount + length else { return false }
        for place in 0..<scheme.utf8CodeUnitCount where text[place] != scheme.utf8Start[place] { return false }
        var place = scheme.utf8CodeUnitCount
        if text[place] == UInt8(ascii: "/") { place += 1 }
        guard text.count == place + length + 1, text[place + length] == UInt8(ascii: "/") else { return false }
        for byte in path.utf8 {
            guard text[place] == byte else { return false }
            place += 1
        }
        return true
    }
}

/// Identifies a tenant: the application whose users talk to each other.
public struct AppID: ObjectID {
    /// `production` for every app: the environment word carries no meaning (docs/conformance.md §1.6).
    public static let path = "apps/production"
    /// Made when the operator creates the app.
    public let rawValue: UUID
    /// Takes any UUID; whether there is such an app is for the database to say.
    public init(rawValue: UUID) { self.rawValue = rawValue }

    /// Accepts `layer:///apps/production/<uuid>`, `layer:///apps/staging/<uuid>`, their two-slash spellings and the bare UUID
    /// (docs/conformance.md §1.6).
    public init?(parsing text: some StringProtocol) {
        guard let uuid = LayerID.uuid(text, paths: [AppID.path, "apps/staging"]) else { return nil }
        self.init(rawValue: uuid)
    }
}

/// Identifies a conversation.
public struct ConversationID: ObjectID {
    /// The same word in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "conversations"
    /// Chosen by the creating client or its gateway; unique over all apps, and taken for good even once the conversation is gone
    /// (docs/conformance.md §1.9).
    public let rawValue: UUID
    /// Takes any UUID; whether there is such a conversation, and for whom, is for the database to say.
    public init(rawValue: UUID) { self.rawValue = rawValue }

    /// The Redis hash tag of this conversation, 0 to 63. Everything ephemeral about a conversation (its channel, its typists and their deadlines)
    /// carries it, since in a cluster a script can only touch and publish keys of one slot (docs/architecture.md §6, §7).
    public var shard: Int { Int(rawValue.uuid.15 & 63) }
}

/// Identifies a message.
public struct MessageID: ObjectID {
    /// The same word in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "messages"
    /// Chosen by the sending client or its gateway; unique over all apps, and taken for good even once the message is gone
    /// (docs/conformance.md §1.9).
    public let rawValue: UUID
    /// Takes any UUID; whether there is such a message, and for whom, is for the database to say.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// Identifies an announcement: a message to a list of users, in no conversation.
public struct AnnouncementID: ObjectID {
    /// The same word in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "announcements"
    /// Chosen by the application's server that sent it, or given to it.
    public let rawValue: UUID
    /// Takes any UUID; whether there is such an announcement, and for whom, is for the database to say.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// Identifies rich content: bytes that are too many for a message and are kept beside it (docs/conformance.md §8).
public struct ContentID: ObjectID {
    /// The same word in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "content"
    /// Given by the gateway that was asked for the upload.
    public let rawValue: UUID
    /// Takes any UUID; whether there is such content, and who may see it, is for the database to say.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// A place in the one order of a conversation's durable changes: 1, 2, 3, … without gaps, in commit order (docs/architecture.md §4).
public struct Position: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Counts changes: 1 is the conversation's creation, 0 stands for before it.
    public let rawValue: Int64
    /// Takes the number of a change; what clients send as a position is a multiple of that, for ``init(wireValue:)``.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// The same, for a number out of the database or a contract.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// Before the first change.
    public static let zero = Position(0)
    /// The position that must follow this one.
    public var next: Position { Position(rawValue &+ 1) }
    /// The number of the change in decimal digits; what clients are shown for a message is ``wireValue``.
    public var description: String { String(rawValue) }
    /// Commit order; only positions of one log compare, a conversation's or a user's own.
    public static func < (a: Position, b: Position) -> Bool { a.rawValue < b.rawValue }

    /// How far apart the wire keeps the positions of two neighbouring messages, so that clients can number unsent ones in between.
    public static let wireStep: Int64 = 8192
    /// The `position` member of a message on the wire.
    public var wireValue: Int64 { rawValue &* Position.wireStep }
    /// The greatest change position whose `wireValue` is at most `wireValue`; positions beyond any real one are kept in range.
    public init(wireValue: Int64) { self.init(max(0, wireValue) / Position.wireStep) }
}
