// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB

/// A queryable property: the location of its value in the store, and the operators that it supports.
struct QueryProperty: Hashable, Sendable {
    /// The location of the value. The strings are SQL from this library, never from the app.
    enum Source: Hashable, Sendable {
        /// A column, or an expression over columns.
        case column(String)
        /// A column of the parts of a message or announcement. `owner` is the column with its id. A comparison is true
        /// if one part satisfies it.
        case parts(String, owner: String)
        case participants
        case metadata(table: String)
        case metadataPath(table: String, path: String)
    }

    enum ValueType: String, Hashable, Sendable {
        case bool, integer, date, text, conversation, message, announcement, part, user, identity, transferStatus,
            presenceStatus
        case users
        case metadata
    }

    /// The LayerKit name.
    let name: String
    let source: Source
    let type: ValueType
    let operators: Set<PredicateOperator>
    let isSortable: Bool
    /// The sort key, if it differs from the value.
    var sortColumn: String?

    init(
        _ name: String, _ source: Source, _ type: ValueType, _ operators: (some QueryOperatorSet).Type,
        sortColumn: String? = nil
    ) {
        self.name = name
        self.source = source
        self.type = type
        self.operators = operators.operators
        self.isSortable = operators.isSortable
        self.sortColumn = sortColumn
    }

    static func metadata(of table: String, path: String) -> QueryProperty {
        QueryProperty("metadata.\(path)", .metadataPath(table: table, path: path), .text, QueryOperators.Lists.self)
    }

    // MARK: Values

    enum Operand: Hashable {
        case null
        case value(DatabaseValue)
        case list([DatabaseValue])
    }

    /// Checks a comparison and converts its value to the stored form.
    /// - Throws: ``StrataError/Code/unsupportedPredicate`` if the property does not support the operator or the value.
    func operand(for comparison: PredicateOperator, value: QueryValue) throws -> Operand {
        guard operators.contains(comparison) else { throw unsupported("\(name) cannot be compared by \(comparison)") }
        switch comparison {
        case .isIn, .isNotIn:
            return .list(try elements(value).map(stored))
        case .isEqualTo, .isNotEqualTo:
            if value == .null { return .null }
            return type == .users ? .list(try elements(value).map(stored)) : .value(try stored(value))
        case .isLessThan, .isLessThanOrEqualTo, .isGreaterThan, .isGreaterThanOrEqualTo, .like:
            return .value(try stored(value))
        }
    }

    private func elements(_ value: QueryValue) -> [QueryValue] {
        if case .list(let values) = value.content { values } else { [value] }
    }

    /// Returns the stored form of a value.
    /// - Throws: `unsupportedPredicate` if the value does not have the type of the property.
    private func stored(_ value: QueryValue) throws -> DatabaseValue {
        guard let stored = storedValue(value.content) else {
            throw unsupported("\(name) cannot be compared with \(value.content.kind); it needs \(type.words)")
        }
        return stored
    }

    /// Returns the stored form of a value; nil if it does not have the type of the property.
    private func storedValue(_ value: QueryValue.Content) -> DatabaseValue? {
        switch (type, value) {
        case (.bool, .bool(let bool)): (bool ? 1 : 0).databaseValue
        case (.integer, .integer(let number)): number.databaseValue
        case (.date, .date(let microseconds)): microseconds.databaseValue
        case (.text, .text(let text)): text.databaseValue
        case (.conversation, .conversation(let id)): id.blob.databaseValue
        case (.conversation, .text(let text)): ConversationID(parsing: text)?.blob.databaseValue
        case (.message, .message(let id)): id.blob.databaseValue
        case (.message, .text(let text)): MessageID(parsing: text)?.blob.databaseValue
        case (.announcement, .announcement(let id)): id.blob.databaseValue
        case (.announcement, .text(let text)): AnnouncementID(parsing: text)?.blob.databaseValue
        case (.part, .uuid(let id)): id.data.databaseValue
        case (.part, .text(let text)): Self.partID(text)?.data.databaseValue
        case (.user, .user(let user)), (.users, .user(let user)), (.identity, .user(let user)):
            user.rawValue.databaseValue
        case (.user, .text(let text)), (.users, .text(let text)): UserID(text)?.rawValue.databaseValue
        case (.identity, .text(let text)): UserID(parsing: text)?.rawValue.databaseValue
        case (.transferStatus, .transferStatus(let status)): status.rawValue.databaseValue
        case (.transferStatus, .integer(let number)):
            Int(exactly: number).flatMap(ContentTransferStatus.init)?.rawValue.databaseValue
        case (.presenceStatus, .presenceStatus(let status)): status.rawValue.databaseValue
        case (.presenceStatus, .text(let text)): PresenceStatus(rawValue: text)?.rawValue.databaseValue
        case (.metadata, .strings(let strings)): StoreCoding.text(strings).databaseValue
        default: nil
        }
    }

    /// Parses a bare UUID or `layer:///messages/<uuid>/parts/<uuid>`.
    private static func partID(_ text: String) -> UUID? {
        guard let slash = text.lastIndex(of: "/") else { return UUID(uuidString: text) }
        guard text.hasPrefix("layer://"), text[..<slash].hasSuffix("/parts") else { return nil }
        return UUID(uuidString: String(text[text.index(after: slash)...]))
    }

    func unsupported(_ message: String) -> StrataError { StrataError(.unsupportedPredicate, message) }
}

extension QueryProperty.ValueType {
    /// The expected value, for error messages.
    fileprivate var words: String {
        switch self {
        case .bool: "true or false"
        case .integer: "a whole number"
        case .date: "a date"
        case .text: "a text"
        case .conversation, .message, .announcement, .identity: "the id of an object of kind \(rawValue)"
        case .part: "the id of a message part"
        case .user: "a user id"
        case .transferStatus: "a transfer status"
        case .presenceStatus: "a presence status"
        case .users: "user ids"
        case .metadata: "metadata"
        }
    }
}

extension QueryValue.Content {
    /// The type of the value, for error messages. The value itself is never included.
    fileprivate var kind: String {
        switch self {
        case .null: "nil"
        case .bool: "a boolean"
        case .integer: "a number"
        case .text: "this text"
        case .date: "a date"
        case .conversation: "the id of a conversation"
        case .message: "the id of a message"
        case .announcement: "the id of an announcement"
        case .uuid: "a UUID"
        case .user: "a user"
        case .transferStatus: "a transfer status"
        case .presenceStatus: "a presence status"
        case .strings: "metadata"
        case .list: "a list"
        }
    }
}
