// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `PATCH /apps/:app/users/:owner`. It is validated as a whole, so that an invalid patch has no effect.
public struct UserPatch: Hashable, Sendable {
    /// The new suspension state; nil: unchanged. The last operation applies.
    public var isSuspended: Bool?
    /// The operations on the user's block list, in order.
    public var blocks: [BlockListOperation] = []

    /// Parses the patch.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(_ json: JSONValue) throws(Failure) {
        for operation in try PatchOperation.all(json) {
            // Each property is parsed by its own function.
            switch operation.property {
            case "suspended": isSuspended = try UserPatch.flag(operation)
            case "blocks": blocks.append(try UserPatch.block(operation))
            default: throw operation.unknownPropertyFailure
            }
        }
    }

    private static func flag(_ operation: PatchOperation) throws(Failure) -> Bool {
        try operation.requireSet()
        guard case .bool(let flag) = try operation.requiredValue() else {
            throw .invalid(operation.shortened, reason: "must be true or false")
        }
        return flag
    }

    /// Parses an operation on the block list. `add` and `remove` name one user, `set` names all: in `value`, or in 2.0
    /// in `id`.
    private static func block(_ operation: PatchOperation) throws(Failure) -> BlockListOperation {
        switch operation.verb {
        case .add: return .add([try user(try operation.requiredName())])
        case .remove: return .remove([try user(try operation.requiredName())])
        case .set:
            let names = if let value = operation.value { value } else { try operation.requiredName() }
            guard case .array(let elements) = names else {
                throw .invalid("blocks", reason: "must be an array of user ids")
            }
            var users: [UserID] = []
            for element in elements { users.append(try user(element)) }
            return .set(users)
        case .delete:
            throw Failure(
                .invalidOperation, "The property blocks can only be set, added to and removed from.",
                detail: .property("blocks"))
        }
    }

    private static func user(_ value: JSONValue) throws(Failure) -> UserID {
        guard case .string(let text) = value, let user = RequestSender.server.userID(text) else {
            throw .invalid("blocks", reason: "must be user ids only")
        }
        return user
    }
}

/// The body of `PATCH /apps/:app`: settings of the app. A nil property is unchanged.
public struct AppPatch: Hashable, Sendable {
    /// The counts included in the badge, in addition to the app's external count.
    public enum BadgeCounts: String, Sendable, CaseIterable {
        case unreadMessages = "unread_messages"
        case unreadConversations = "unread_conversations"
        /// Only the app's external count.
        case external
        /// No badge.
        case disabled
    }

    /// The users who may add another user to a conversation.
    public enum ParticipantsAddedBy: String, Sendable, CaseIterable {
        case anyone
        /// Users whom the added user follows.
        case followed
        /// Only the app's own server.
        case server
    }

    /// The range of ``sessionTTL``, in seconds.
    public static let sessionTTL: ClosedRange<Int64> = 30...31_536_000
    /// The range of ``strangerAdditionsPerHour``.
    public static let strangerAdditions: ClosedRange<Int64> = 0...10_000

    /// The lifetime of an unused session, in seconds; 0: the server's setting.
    public var sessionTTL: Int64?
    /// The counts included in the badge.
    public var badgeCounts: BadgeCounts?
    /// True to also count unread announcements.
    public var badgeAnnouncements: Bool?
    /// The users who may add another user to a conversation.
    public var participantsAddedBy: ParticipantsAddedBy?
    /// The maximum number of additions of a user to conversations per hour by users whom they have not chosen to
    /// follow.
    public var strangerAdditionsPerHour: Int64?

    /// Parses the patch.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(_ json: JSONValue) throws(Failure) {
        for operation in try PatchOperation.all(json) {
            switch operation.property {
            case "session_ttl_in_seconds": sessionTTL = try AppPatch.sessionTTL(operation)
            case "badge_counts": badgeCounts = try AppPatch.word(operation)
            case "badge_counts_announcements":
                try operation.requireSet()
                guard case .bool(let flag) = try operation.requiredValue() else {
                    throw .invalid(operation.property, reason: "must be true or false")
                }
                badgeAnnouncements = flag
            case "participants_added_by": participantsAddedBy = try AppPatch.word(operation)
            case "stranger_additions_per_hour":
                try operation.requireSet()
                strangerAdditionsPerHour = try AppPatch.number(
                    try operation.requiredValue(), in: AppPatch.strangerAdditions, of: operation)
            default: throw operation.unknownPropertyFailure
            }
        }
    }

    /// Parses a session lifetime. Null means the server's setting.
    private static func sessionTTL(_ operation: PatchOperation) throws(Failure) -> Int64 {
        try operation.requireSet()
        let value = try operation.requiredValue()
        if value.isNull { return 0 }
        return try number(value, in: sessionTTL, of: operation, orElse: ", or null")
    }

    private static func number(
        _ value: JSONValue, in range: ClosedRange<Int64>, of operation: PatchOperation, orElse: String = ""
    ) throws(Failure) -> Int64 {
        guard let number = value.integerValue, range.contains(number) else {
            throw .invalid(
                operation.property,
                reason: "must be a whole number from \(range.lowerBound) to \(range.upperBound)\(orElse)")
        }
        return number
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ operation: PatchOperation
    ) throws(Failure) -> Word {
        try operation.requireSet()
        guard case .string(let text) = try operation.requiredValue(), let word = Word(rawValue: text) else {
            let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid(operation.property, reason: "must be one of \(words)")
        }
        return word
    }
}

/// The body of `PUT` and `PATCH` of a user's badge.
public struct BadgeBody: Hashable, Sendable {
    /// The number of unread items outside conversations; nil: unchanged.
    public var externalUnreadCount: Int64?

    /// Parses the body of a `PUT`.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(_ json: JSONValue) throws(Failure) {
        guard let value = try Members(json)["external_unread_count"] else { throw .missing("external_unread_count") }
        externalUnreadCount = try BadgeBody.count(value)
    }

    /// Parses the body of a `PATCH`. An empty patch changes nothing.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(patch json: JSONValue) throws(Failure) {
        for operation in try PatchOperation.all(json) {
            guard operation.property == "external_unread_count" else { throw operation.unknownPropertyFailure }
            try operation.requireSet()
            externalUnreadCount = try BadgeBody.count(try operation.requiredValue())
        }
    }

    private static func count(_ value: JSONValue) throws(Failure) -> Int64 {
        guard let count = value.integerValue, (0...Int64(Int32.max)).contains(count) else {
            throw .invalid("external_unread_count", reason: "must be a whole number from 0 to \(Int32.max)")
        }
        return count
    }
}
