// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel

/// The paging parameters of a list's query string (docs/conformance.md §1.8).
public struct PageQuery<ID: ObjectID>: Hashable, Sendable {
    /// The page size: 1 to the maximum.
    public var pageSize: Int
    /// The object after which the page begins; nil: the beginning of the list.
    public var fromID: ID?

    /// Parses the parameters.
    /// - Parameters:
    ///   - parameter: returns the decoded value of a query parameter; nil if it is absent.
    ///   - maximum: the maximum and default page size. Larger sizes are reduced to it.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init(maximum: Int = Limits.pageSize, parameter: (String) -> String?) throws(Failure) {
        pageSize = try checkedPageSize(parameter("page_size"), maximum: maximum)
        fromID = nil
        if let text = parameter("from_id"), !text.isEmpty {
            guard let id = ID(parsing: text) else {
                throw .invalid("from_id", reason: "is not the id of an object in this list")
            }
            fromID = id
        }
    }
}

/// The query of `GET /conversations` (docs/conformance.md §5.2).
public struct ConversationsQuery: Hashable, Sendable {
    /// The requested page of the list.
    public var page: PageQuery<ConversationID>
    /// The sort order.
    public var order: ConversationOrder
    /// The messages to include with each conversation; nil: none.
    public var messages: LoadedMessages?
    /// A condition on the conversations' metadata; nil: none.
    public var condition: MetadataCondition?

    /// Parses the query.
    /// - Parameter condition: nil if the query has none.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init(condition: MetadataCondition? = nil, parameter: (String) -> String?) throws(Failure) {
        page = try PageQuery(parameter: parameter)
        let word = parameter("sort_by") ?? ""
        guard let order = word.isEmpty ? .createdAt : ConversationOrder(rawValue: word) else {
            throw .invalid("sort_by", reason: "must be created_at or last_message")
        }
        self.order = order
        messages = try LoadedMessages(parameter("messages"))
        self.condition = condition
        guard condition != nil else { return }
        guard order == .createdAt else {
            throw .invalid("sort_by", reason: "must be created_at in a query by metadata")
        }
        guard messages == nil else { throw .invalid("messages", reason: "cannot be combined with a query by metadata") }
    }
}

/// The messages to load together with a conversation, always the newest ones.
public enum LoadedMessages: Hashable, Sendable {
    /// The given number of messages.
    case newest(Int)
    /// All messages from the first unread one, or the newest one if all are read.
    case unread

    /// The maximum number of messages that can be requested.
    public static let maximum = 100

    /// Parses the parameter. Returns nil if it is absent or empty, which requests no messages.
    /// - Throws: ``Failure`` naming the parameter.
    init?(_ text: String?) throws(Failure) {
        guard let text, !text.isEmpty else { return nil }
        if text == "unread" {
            self = .unread
        } else {
            let isNumber = text.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            guard isNumber, let count = Int(text), (1...Self.maximum).contains(count) else {
                throw .invalid("messages", reason: "must be a number from 1 to \(Self.maximum), or unread")
            }
            self = .newest(count)
        }
    }
}

/// The query of `GET /identities?ids=…`, which requests specific users instead of a page of the followed users.
public struct IdentitiesQuery: Hashable, Sendable {
    /// The users without duplicates, in the order of the request.
    public var users: [UserID]

    /// The maximum number of users.
    public static let maximum = 100

    /// Parses the query.
    /// - Parameters:
    ///   - values: the decoded values of all `ids` parameters. Commas separate ids. A comma within a user id must be
    ///     percent-encoded, as in identity ids.
    ///   - sender: the sender of the request, which determines the format of bare user ids.
    /// - Throws: ``Failure`` naming the parameter.
    public init(ids values: [String], from sender: RequestSender = .client) throws(Failure) {
        users = []
        var known: Set<UserID> = []
        for text in values.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
            guard let user = sender.userID(text) else {
                throw .invalid("ids", reason: "has an element that is not the id of an identity")
            }
            guard known.insert(user).inserted else { continue }
            guard users.count < Self.maximum else {
                throw .invalid("ids", reason: "names more than \(Self.maximum) users")
            }
            users.append(user)
        }
    }
}

/// The query of `GET /identities` and similar lists, which are sorted by user id.
public struct UsersQuery: Hashable, Sendable {
    /// The page size: 1 to the maximum.
    public var pageSize: Int
    /// The user after which the page begins; nil: the beginning of the list.
    public var fromID: UserID?

    /// Parses the query.
    /// - Parameter sender: the sender of the request, which determines the format of bare user ids.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init(
        maximum: Int = 500, from sender: RequestSender = .client, parameter: (String) -> String?
    ) throws(Failure) {
        pageSize = try checkedPageSize(parameter("page_size"), maximum: maximum)
        fromID = nil
        if let text = parameter("from_id"), !text.isEmpty {
            guard let id = sender.userID(text) else {
                throw .invalid("from_id", reason: "is not the id of an identity")
            }
            fromID = id
        }
    }
}

/// The query of the list of a user's sessions, for an app's own server.
public struct SessionsQuery: Hashable, Sendable {
    /// The page size: 1 to the maximum.
    public var pageSize: Int
    /// The session after which the page begins; nil: the beginning of the list.
    public var from: UUID?

    /// Parses the query.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init(parameter: (String) -> String?) throws(Failure) {
        pageSize = try checkedPageSize(parameter("page_size"), maximum: Limits.pageSize)
        from = nil
        if let text = parameter("from_id"), !text.isEmpty {
            guard let id = UUID(text: text.utf8) else {
                throw .invalid("from_id", reason: "is not the id of a session")
            }
            from = id
        }
    }
}

/// The query of the two `DELETE` requests (docs/conformance.md §5.7, §6.6).
public struct DeletionQuery: Hashable, Sendable {
    /// The scope of the deletion.
    public var mode: DeletionMode
    /// True to also leave a conversation, with mode `my_devices`.
    public var leave: Bool

    /// Parses the query. `destroy=true` is an old spelling of `mode=all_participants`.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init(parameter: (String) -> String?) throws(Failure) {
        let destroy = try DeletionQuery.flag("destroy", from: parameter)
        if let word = parameter("mode"), !word.isEmpty {
            guard let mode = DeletionMode(rawValue: word) else {
                throw .invalid("mode", reason: "must be all_participants or my_devices")
            }
            self.mode = mode
        } else {
            guard destroy else { throw .missing("mode") }
            mode = .allParticipants
        }
        leave = try DeletionQuery.flag("leave", from: parameter) && mode == .myDevices
    }

    private static func flag(_ name: String, from parameter: (String) -> String?) throws(Failure) -> Bool {
        switch parameter(name) {
        case nil, "", "false", "0": return false
        case "true", "1": return true
        default: throw .invalid(name, reason: "must be true or false")
        }
    }
}

/// The query of `DELETE /conversations/:uuid` (docs/conformance.md §5.7).
public struct ConversationDeletionQuery: Hashable, Sendable {
    /// The scope of the deletion.
    public var mode: DeletionMode
    /// True to also leave the conversation, with mode `my_devices`.
    public var leave: Bool
    /// The position of the last change to delete, with mode `my_devices`; later changes stay. Nil: everything.
    public var upTo: Position?

    /// Parses the query.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init(parameter: (String) -> String?) throws(Failure) {
        let deletion = try DeletionQuery(parameter: parameter)
        (mode, leave) = (deletion.mode, deletion.leave)
        guard let text = parameter("position") else { return }
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
            throw .invalid("position", reason: "must be the position of a change, a whole number of at least 0")
        }
        guard mode == .myDevices else { throw .invalid("position", reason: "requires mode=my_devices") }
        // The text has only digits, so a number that does not fit exceeds every position.
        upTo = Position(Int64(text) ?? .max)
    }
}

/// Parses a page size. A size above the maximum is reduced; an invalid one is refused.
private func checkedPageSize(_ text: String?, maximum: Int) throws(Failure) -> Int {
    guard let text, !text.isEmpty else { return maximum }
    guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
        throw .invalid("page_size", reason: "must be a positive integer")
    }
    // The text has only digits, so parsing fails only if the number is too large.
    let size = Int(text) ?? Int.max
    guard size > 0 else { throw .invalid("page_size", reason: "must be a positive integer") }
    return min(size, maximum)
}
