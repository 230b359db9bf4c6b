// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import StrataModel

/// One page of a list, as asked for in a query string (docs/conformance.md §1.8).
public struct PageQuery<ID: ObjectID>: Hashable, Sendable {
    /// 1 to the maximum.
    public var pageSize: Int
    /// Return what comes after this object.
    public var fromID: ID?

    /// - Parameters:
    ///   - parameter: the decoded value of a query parameter; nil if it is absent.
    ///   - maximum: larger pages are cut down to it; also the default.
    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(maximum: Int = Limits.pageSize, parameter: (String) -> String?) throws(Failure) {
        pageSize = try checkedPageSize(parameter("page_size"), maximum: maximum)
        fromID = nil
        if let text = parameter("from_id"), !text.isEmpty {
            guard let id = ID(parsing: text) else { throw .invalid("from_id", reason: "is not the id of an object in this list") }
            fromID = id
        }
    }
}

/// The query of `GET /conversations` (docs/conformance.md §5.2).
public struct ConversationsQuery: Hashable, Sendable {
    /// Which page of the list.
    public var page: PageQuery<ConversationID>
    /// By what it is sorted.
    public var order: ConversationOrder
    /// Which messages come with each conversation; nil: none.
    public var messages: LoadedMessages?
    /// Which conversations of the list; nil: all.
    public var condition: MetadataCondition?

    /// - Parameter condition: nil if the query has none.
    /// - Throws: ``Failure`` naming the parameter at fault.
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
        guard order == .createdAt else { throw .invalid("sort_by", reason: "must be created_at in a query by metadata") }
        guard messages == nil else { throw .invalid("messages", reason: "cannot be asked for in a query by metadata") }
    }
}

/// Which messages of a conversation come together with it, always the newest ones.
public enum LoadedMessages: Hashable, Sendable {
    /// So many.
    case newest(Int)
    /// All from the first unread one on; where all are read, the newest one.
    case unread

    /// As many as can be asked for by number.
    public static let maximum = 100

    /// Nil without a value, which asks for none.
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

/// The query of `GET /identities?ids=…`, which asks for certain users instead of a page of those the user follows.
public struct IdentitiesQuery: Hashable, Sendable {
    /// In the order in which they are named first.
    public var users: [UserID]

    /// As many as can be named.
    public static let maximum = 100

    /// - Parameters:
    ///   - values: the decoded values of all parameters `ids`. Ids are separated by commas; one whose user id has a comma in it has it percent-encoded, as
    ///     identity ids have.
    ///   - sender: who asks, which decides how a bare user id is read.
    /// - Throws: ``Failure`` naming the parameter.
    public init(ids values: [String], from sender: RequestSender = .client) throws(Failure) {
        users = []
        var known: Set<UserID> = []
        for text in values.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
            guard let user = sender.userID(text) else { throw .invalid("ids", reason: "holds something that is not the id of an identity") }
            guard known.insert(user).inserted else { continue }
            guard users.count < Self.maximum else { throw .invalid("ids", reason: "names more than \(Self.maximum) users") }
            users.append(user)
        }
    }
}

/// The query of `GET /identities` and its like, which list by user id.
public struct UsersQuery: Hashable, Sendable {
    /// 1 to the maximum.
    public var pageSize: Int
    /// Return what comes after this user.
    public var fromID: UserID?

    /// - Parameter sender: who asks, which decides how a bare user id is read.
    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(maximum: Int = 500, from sender: RequestSender = .client, parameter: (String) -> String?) throws(Failure) {
        pageSize = try checkedPageSize(parameter("page_size"), maximum: maximum)
        fromID = nil
        if let text = parameter("from_id"), !text.isEmpty {
            guard let id = sender.userID(text) else { throw .invalid("from_id", reason: "is not the id of an identity") }
            fromID = id
        }
    }
}

/// The query of the list of a user's sessions, for an app's own server.
public struct SessionsQuery: Hashable, Sendable {
    /// 1 to the maximum.
    public var pageSize: Int
    /// Return what comes after this session.
    public var from: UUID?

    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(parameter: (String) -> String?) throws(Failure) {
        pageSize = try checkedPageSize(parameter("page_size"), maximum: Limits.pageSize)
        from = nil
        if let text = parameter("from_id"), !text.isEmpty {
            guard let id = UUID(text: text.utf8) else { throw .invalid("from_id", reason: "is not the id of a session") }
            from = id
        }
    }
}

/// The query of the two `DELETE` requests (docs/conformance.md §5.7, §6.6).
public struct DeletionQuery: Hashable, Sendable {
    /// Who the deletion is for.
    public var mode: DeletionMode
    /// Of a conversation with mode `my_devices`: leave it, too.
    public var leave: Bool

    /// `destroy=true` is an old spelling of `mode=all_participants`.
    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(parameter: (String) -> String?) throws(Failure) {
        let destroy = try DeletionQuery.flag("destroy", from: parameter)
        if let word = parameter("mode"), !word.isEmpty {
            guard let mode = DeletionMode(rawValue: word) else { throw .invalid("mode", reason: "must be all_participants or my_devices") }
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
    /// Who the deletion is for.
    public var mode: DeletionMode
    /// With mode `my_devices`: leave the conversation, too.
    public var leave: Bool
    /// With mode `my_devices`: a position of the conversation's changes, beyond which everything stays. Nil: everything goes.
    public var upTo: Position?

    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(parameter: (String) -> String?) throws(Failure) {
        let deletion = try DeletionQuery(parameter: parameter)
        (mode, leave) = (deletion.mode, deletion.leave)
        guard let text = parameter("position") else { return }
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
            throw .invalid("position", reason: "must be the position of a change: a whole number, and not negative")
        }
        guard mode == .myDevices else { throw .invalid("position", reason: "goes with mode=my_devices only") }
        // Digits only: what is too large is beyond every position.
        upTo = Position(Int64(text) ?? .max)
    }
}

/// Too large is cut down; what is no page size at all is refused.
private func checkedPageSize(_ text: String?, maximum: Int) throws(Failure) -> Int {
    guard let text, !text.isEmpty else { return maximum }
    guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
        throw .invalid("page_size", reason: "must be a positive integer")
    }
    // Digits only, so that it can fail by nothing but its size.
    let size = Int(text) ?? Int.max
    guard size > 0 else { throw .invalid("page_size", reason: "must be a positive integer") }
    return min(size, maximum)
}
