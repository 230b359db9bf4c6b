// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// A UUID that identifies one kind of object. Distinct types prevent using a message's id as a conversation's.
public protocol ObjectID: RawRepresentable<UUID>, Hashable, Sendable, CustomStringConvertible {
    /// The path before the UUID in a `layer:///` id, for example `conversations`.
    static var path: String { get }
    init(rawValue: UUID)
}

extension ObjectID {
    /// Returns a random identifier.
    public static func random() -> Self { Self(rawValue: UUID()) }

    /// The UUID in lower case, the spelling of the database and of every URL.
    public var description: String { rawValue.lowercaseText }

    /// The identifier in its wire format: `layer:///<path>/<uuid>`.
    public var layerID: String { "layer:///\(Self.path)/\(description)" }

    /// Parses a bare UUID or a `layer:///<path>/<uuid>` id, also with two slashes as in old documents. Returns nil for
    /// anything else.
    public init?(parsing text: some StringProtocol) {
        guard let uuid = LayerID.uuid(text, paths: [Self.path]) else { return nil }
        self.init(rawValue: uuid)
    }
}

/// A parser for ids in their wire format.
enum LayerID {
    /// Parses a UUID, either bare or after `layer:///<path>/` with one of these paths.
    static func uuid(_ text: some StringProtocol, paths: [String]) -> UUID? {
        text.utf8.withContiguousStorageIfAvailable { uuid($0, paths: paths) }
            ?? Array(text.utf8).withUnsafeBufferPointer { uuid($0, paths: paths) }
    }

    private static func uuid(_ bytes: UnsafeBufferPointer<UInt8>, paths: [String]) -> UUID? {
        guard bytes.count >= 36, let uuid = UUID(bytes: UnsafeBufferPointer(rebasing: bytes.suffix(36))) else {
            return nil
        }
        let prefix = UnsafeBufferPointer(rebasing: bytes.dropLast(36))
        return prefix.isEmpty || paths.contains { isPrefix(prefix, of: $0) } ? uuid : nil
    }

    /// Returns true if `text` is `layer:///<path>/` or the same with two slashes.
    static func isPrefix(_ text: some Collection<UInt8>, of path: String) -> Bool {
        text.withContiguousStorageIfAvailable { isPrefix($0, of: path) }
            ?? Array(text).withUnsafeBufferPointer { isPrefix($0, of: path) }
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

/// The identifier of a tenant: an application with its own users.
public struct AppID: ObjectID {
    /// The `production` path of every app. The environment word carries no meaning (docs/conformance.md §1.6).
    public static let path = "apps/production"
    /// The UUID, generated when the operator creates the app.
    public let rawValue: UUID
    /// Creates an id from any UUID. Only the database knows whether the app exists.
    public init(rawValue: UUID) { self.rawValue = rawValue }

    /// Parses `layer:///apps/production/<uuid>`, `layer:///apps/staging/<uuid>`, their two-slash spellings or a bare
    /// UUID (docs/conformance.md §1.6).
    public init?(parsing text: some StringProtocol) {
        guard let uuid = LayerID.uuid(text, paths: [AppID.path, "apps/staging"]) else { return nil }
        self.init(rawValue: uuid)
    }
}

/// The identifier of a conversation.
public struct ConversationID: ObjectID {
    /// The path segment in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "conversations"
    /// The UUID, chosen by the creating client or its gateway. It is unique over all apps and never reused, even after
    /// the conversation is deleted (docs/conformance.md §1.9).
    public let rawValue: UUID
    /// Creates an id from any UUID. Only the database knows whether the conversation exists, and for whom.
    public init(rawValue: UUID) { self.rawValue = rawValue }

    /// The Redis hash tag of this conversation: 0 to 63. All ephemeral keys of a conversation (its channel, typing
    /// users and deadlines) carry it, because a script in a cluster can only access keys of one slot
    /// (docs/architecture.md §6, §7).
    public var shard: Int { Int(rawValue.uuid.15 & 63) }
}

/// The identifier of a message.
public struct MessageID: ObjectID {
    /// The path segment in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "messages"
    /// The UUID, chosen by the sending client or its gateway. It is unique over all apps and never reused, even after
    /// the message is deleted (docs/conformance.md §1.9).
    public let rawValue: UUID
    /// Creates an id from any UUID. Only the database knows whether the message exists, and for whom.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// The identifier of an announcement: a message to a list of users, in no conversation.
public struct AnnouncementID: ObjectID {
    /// The path segment in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "announcements"
    /// The UUID, chosen by the sending application's server or generated for it.
    public let rawValue: UUID
    /// Creates an id from any UUID. Only the database knows whether the announcement exists, and for whom.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// The identifier of rich content: bytes that are too large for a message and are stored separately
/// (docs/conformance.md §8).
public struct ContentID: ObjectID {
    /// The path segment in ids and in REST paths (docs/conformance.md §1.6).
    public static let path = "content"
    /// The UUID, generated by the gateway that received the upload request.
    public let rawValue: UUID
    /// Creates an id from any UUID. Only the database knows whether the content exists, and for whom.
    public init(rawValue: UUID) { self.rawValue = rawValue }
}

/// A position in the order of a conversation's durable changes: 1, 2, 3, … without gaps, in commit order
/// (docs/architecture.md §4).
public struct Position: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of the change: 1 is the conversation's creation, 0 is before it.
    public let rawValue: Int64
    /// Creates a position from the number of a change. Use ``init(wireValue:)`` for positions that clients send.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Creates a position from a number that was read from the database or a contract.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// The position before the first change.
    public static let zero = Position(0)
    /// The position that follows this one.
    public var next: Position { Position(rawValue &+ 1) }
    /// The number of the change in decimal digits. Clients see the ``wireValue`` of a message instead.
    public var description: String { String(rawValue) }
    /// Compares by commit order. Both positions must be of one log, a conversation's or a user's own.
    public static func < (a: Position, b: Position) -> Bool { a.rawValue < b.rawValue }

    /// The distance between the wire positions of two adjacent changes. Clients number unsent messages in between.
    public static let wireStep: Int64 = 8192
    /// The `position` member of a message on the wire.
    public var wireValue: Int64 { rawValue &* Position.wireStep }
    /// Creates the greatest position whose ``wireValue`` is at most `wireValue`. Negative values yield ``zero``.
    public init(wireValue: Int64) { self.init(max(0, wireValue) / Position.wireStep) }
}

extension UUID {
    /// Parses the 36 characters of a UUID in either case. Returns nil for anything else.
    public init?(text: some Collection<UInt8>) {
        let found =
            text.withContiguousStorageIfAvailable { UUID(bytes: $0) }
            ?? Array(text).withUnsafeBufferPointer { UUID(bytes: $0) }
        guard let found else { return nil }
        self = found
    }

    /// Parses contiguous bytes. This is much faster than a generic collection.
    init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == 36 else { return nil }
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let isValid = withUnsafeMutableBytes(of: &value) { target in
            var digits = 0
            for (place, byte) in bytes.enumerated() {
                if place == 8 || place == 13 || place == 18 || place == 23 {
                    guard byte == UInt8(ascii: "-") else { return false }
                } else {
                    guard let digit = UUID.hexValue(byte) else { return false }
                    target[digits >> 1] = target[digits >> 1] << 4 | digit
                    digits += 1
                }
            }
            return true
        }
        guard isValid else { return nil }
        self.init(uuid: value)
    }

    /// The 36 characters of the UUID in lower case.
    public var lowercaseText: String {
        String(unsafeUninitializedCapacity: 36) { target in
            var place = 0
            withUnsafeBytes(of: uuid) { bytes in
                for index in 0..<16 {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        target[place] = UInt8(ascii: "-")
                        place += 1
                    }
                    target[place] = UUID.hexDigit(bytes[index] >> 4)
                    target[place + 1] = UUID.hexDigit(bytes[index] & 15)
                    place += 2
                }
            }
            return place
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
