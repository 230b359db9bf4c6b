// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A value for a comparison with a property. It is created from a type that conforms to ``QueryValueConvertible``.
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
        /// Metadata: each text by its key path.
        case strings([String: String])
        case list([QueryValue])
    }

    let content: Content

    init(_ content: Content) { self.content = content }

    /// A list of values. Their order has no meaning.
    init(_ values: some Sequence<some QueryValueConvertible>) { content = .list(values.map(\.queryValue)) }

    /// No value.
    static let null = QueryValue(.null)
}

/// A possible value of a predicate: texts, numbers, dates, ids, objects (which stand for their ids), metadata, and arrays and sets of these.
public protocol QueryValueConvertible: Sendable {
    /// The value.
    var queryValue: QueryValue { get }
}

/// A reference to a user: a ``UserID``, its text, or an ``Identity``.
public protocol UserReference: QueryValueConvertible {}

extension UserID: UserReference {
    /// The user.
    public var queryValue: QueryValue { QueryValue(.user(self)) }
}
extension String: UserReference {
    /// The text.
    public var queryValue: QueryValue { QueryValue(.text(self)) }
}
extension Identity: UserReference {
    /// The user; a sender that is no user is equal to no user.
    public var queryValue: QueryValue { QueryValue(.user(userID ?? UserID(trusted: ""))) }
}

extension Bool: QueryValueConvertible {
    /// The boolean.
    public var queryValue: QueryValue { QueryValue(.bool(self)) }
}
extension Int: QueryValueConvertible {
    /// The number.
    public var queryValue: QueryValue { QueryValue(.integer(Int64(self))) }
}
extension Int64: QueryValueConvertible {
    /// The number.
    public var queryValue: QueryValue { QueryValue(.integer(self)) }
}
extension Date: QueryValueConvertible {
    /// The date, to the microsecond.
    public var queryValue: QueryValue { QueryValue(.date(microseconds)) }
}
extension URL: QueryValueConvertible {
    /// The text of the URL.
    public var queryValue: QueryValue { QueryValue(.text(absoluteString)) }
}
extension UUID: QueryValueConvertible {
    /// The UUID.
    public var queryValue: QueryValue { QueryValue(.uuid(self)) }
}
extension ConversationID: QueryValueConvertible {
    /// The id.
    public var queryValue: QueryValue { QueryValue(.conversation(self)) }
}
extension MessageID: QueryValueConvertible {
    /// The id.
    public var queryValue: QueryValue { QueryValue(.message(self)) }
}
extension AnnouncementID: QueryValueConvertible {
    /// The id.
    public var queryValue: QueryValue { QueryValue(.announcement(self)) }
}
extension ContentTransferStatus: QueryValueConvertible {
    /// The status.
    public var queryValue: QueryValue { QueryValue(.transferStatus(self)) }
}
extension PresenceStatus: QueryValueConvertible {
    /// The status.
    public var queryValue: QueryValue { QueryValue(.presenceStatus(self)) }
}
extension Metadata: QueryValueConvertible {
    /// Each text by its key path.
    public var queryValue: QueryValue { QueryValue(.strings(flattened)) }
}

extension Conversation: QueryValueConvertible {
    /// Its id.
    public var queryValue: QueryValue { id.queryValue }
}
extension Message: QueryValueConvertible {
    /// Its id.
    public var queryValue: QueryValue { id.queryValue }
}
extension MessagePart: QueryValueConvertible {
    /// Its id.
    public var queryValue: QueryValue { id.queryValue }
}
extension Announcement: QueryValueConvertible {
    /// Its id.
    public var queryValue: QueryValue { id.queryValue }
}

extension Array: QueryValueConvertible where Element: QueryValueConvertible {
    /// The values in it. Their order has no meaning.
    public var queryValue: QueryValue { QueryValue(self) }
}
extension Set: QueryValueConvertible where Element: QueryValueConvertible {
    /// The values in it.
    public var queryValue: QueryValue { QueryValue(self) }
}
extension Dictionary: QueryValueConvertible where Key == String, Value == String {
    /// Metadata, each text by its key path.
    public var queryValue: QueryValue { QueryValue(.strings(self)) }
}
extension Optional: QueryValueConvertible where Wrapped: QueryValueConvertible {
    /// The value, or none.
    public var queryValue: QueryValue { map(\.queryValue) ?? .null }
}
