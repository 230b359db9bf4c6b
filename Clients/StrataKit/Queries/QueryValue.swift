// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A comparison value. It is created from a type that conforms to ``QueryValueConvertible``.
public struct QueryValue: Hashable, Sendable {
    indirect enum Content: Hashable, Sendable {
        case null
        case bool(Bool)
        case integer(Int64)
        case text(String)
        /// Microseconds since 1970.
        case date(Int64)
        case conversation(ConversationID)
        case message(MessageID)
        case announcement(AnnouncementID)
        case uuid(UUID)
        case user(UserID)
        case transferStatus(ContentTransferStatus)
        case presenceStatus(PresenceStatus)
        /// Metadata: the texts by their full key paths.
        case strings([String: String])
        case list([QueryValue])
    }

    let content: Content

    init(_ content: Content) { self.content = content }

    /// Creates a list of values. Their order has no meaning.
    init(_ values: some Sequence<some QueryValueConvertible>) { content = .list(values.map(\.queryValue)) }

    static let null = QueryValue(.null)
}

/// A type whose values can be used in predicates: texts, numbers, dates, ids, objects (as their ids), metadata, and
/// arrays and sets of these.
public protocol QueryValueConvertible: Sendable {
    /// The comparison value.
    var queryValue: QueryValue { get }
}

/// A reference to a user: a ``UserID``, its text, or an ``Identity``.
public protocol UserReference: QueryValueConvertible {}

extension UserID: UserReference {
    /// The user as a comparison value.
    public var queryValue: QueryValue { QueryValue(.user(self)) }
}
extension String: UserReference {
    /// The text as a comparison value.
    public var queryValue: QueryValue { QueryValue(.text(self)) }
}
extension Identity: UserReference {
    /// The user as a comparison value. A sender that is not a user matches no user.
    public var queryValue: QueryValue { QueryValue(.user(userID ?? UserID(trusted: ""))) }
}

extension Bool: QueryValueConvertible {
    /// The Boolean as a comparison value.
    public var queryValue: QueryValue { QueryValue(.bool(self)) }
}
extension Int: QueryValueConvertible {
    /// The number as a comparison value.
    public var queryValue: QueryValue { QueryValue(.integer(Int64(self))) }
}
extension Int64: QueryValueConvertible {
    /// The number as a comparison value.
    public var queryValue: QueryValue { QueryValue(.integer(self)) }
}
extension Date: QueryValueConvertible {
    /// The date as a comparison value, with microsecond precision.
    public var queryValue: QueryValue { QueryValue(.date(microseconds)) }
}
extension URL: QueryValueConvertible {
    /// The URL's text as a comparison value.
    public var queryValue: QueryValue { QueryValue(.text(absoluteString)) }
}
extension UUID: QueryValueConvertible {
    /// The UUID as a comparison value.
    public var queryValue: QueryValue { QueryValue(.uuid(self)) }
}
extension ConversationID: QueryValueConvertible {
    /// The id as a comparison value.
    public var queryValue: QueryValue { QueryValue(.conversation(self)) }
}
extension MessageID: QueryValueConvertible {
    /// The id as a comparison value.
    public var queryValue: QueryValue { QueryValue(.message(self)) }
}
extension AnnouncementID: QueryValueConvertible {
    /// The id as a comparison value.
    public var queryValue: QueryValue { QueryValue(.announcement(self)) }
}
extension ContentTransferStatus: QueryValueConvertible {
    /// The status as a comparison value.
    public var queryValue: QueryValue { QueryValue(.transferStatus(self)) }
}
extension PresenceStatus: QueryValueConvertible {
    /// The status as a comparison value.
    public var queryValue: QueryValue { QueryValue(.presenceStatus(self)) }
}
extension Metadata: QueryValueConvertible {
    /// The texts by their full key paths, as a comparison value.
    public var queryValue: QueryValue { QueryValue(.strings(flattened)) }
}

extension Conversation: QueryValueConvertible {
    /// The conversation's id as a comparison value.
    public var queryValue: QueryValue { id.queryValue }
}
extension Message: QueryValueConvertible {
    /// The message's id as a comparison value.
    public var queryValue: QueryValue { id.queryValue }
}
extension MessagePart: QueryValueConvertible {
    /// The part's id as a comparison value.
    public var queryValue: QueryValue { id.queryValue }
}
extension Announcement: QueryValueConvertible {
    /// The announcement's id as a comparison value.
    public var queryValue: QueryValue { id.queryValue }
}

extension Array: QueryValueConvertible where Element: QueryValueConvertible {
    /// The elements as a list of comparison values. Their order has no meaning.
    public var queryValue: QueryValue { QueryValue(self) }
}
extension Set: QueryValueConvertible where Element: QueryValueConvertible {
    /// The elements as a list of comparison values.
    public var queryValue: QueryValue { QueryValue(self) }
}
extension Dictionary: QueryValueConvertible where Key == String, Value == String {
    /// Metadata as a comparison value: the texts by their full key paths.
    public var queryValue: QueryValue { QueryValue(.strings(self)) }
}
extension Optional: QueryValueConvertible where Wrapped: QueryValueConvertible {
    /// The wrapped value as a comparison value; nil: no value.
    public var queryValue: QueryValue { map(\.queryValue) ?? .null }
}
