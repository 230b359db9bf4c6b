// SPDX-License-Identifier: Apache-2.0
public import Model

/// One page of a list, as asked for in a query string (spec 1.8).
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
            guard let id = ID(parsing: text) else { throw .invalid("from_id", "is not the id of an object in this list") }
            fromID = id
        }
    }
}

/// The query of `GET /conversations` (spec 5.2).
public struct ConversationsQuery: Hashable, Sendable {
    /// Which page of the list.
    public var page: PageQuery<ConversationID>
    /// By what it is sorted.
    public var order: ConversationOrder

    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(parameter: (String) -> String?) throws(Failure) {
        page = try PageQuery(parameter: parameter)
        let word = parameter("sort_by") ?? ""
        guard let order = word.isEmpty ? .createdAt : ConversationOrder(rawValue: word) else {
            throw .invalid("sort_by", "must be created_at or last_message")
        }
        self.order = order
    }
}

/// The query of `GET /identities` and its like, which list by user id.
public struct UsersQuery: Hashable, Sendable {
    /// 1 to the maximum.
    public var pageSize: Int
    /// Return what comes after this user.
    public var fromID: UserID?

    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(maximum: Int = 500, parameter: (String) -> String?) throws(Failure) {
        pageSize = try checkedPageSize(parameter("page_size"), maximum: maximum)
        fromID = nil
        if let text = parameter("from_id"), !text.isEmpty {
            guard let id = UserID(parsing: text) else { throw .invalid("from_id", "is not the id of an identity") }
            fromID = id
        }
    }
}

/// The query of the two `DELETE` requests (spec 5.7, 6.6).
public struct DeletionQuery: Hashable, Sendable {
    /// Who the deletion is for.
    public var mode: DeletionMode
    /// Of a conversation with mode `my_devices`: leave it, too.
    public var leave: Bool

    /// `destroy=true` is an old spelling of `mode=all_participants`.
    /// - Throws: ``Failure`` naming the parameter at fault.
    public init(parameter: (String) -> String?) throws(Failure) {
        let destroy = try DeletionQuery.flag("destroy", parameter)
        if let word = parameter("mode"), !word.isEmpty {
            guard let mode = DeletionMode(rawValue: word) else { throw .invalid("mode", "must be all_participants or my_devices") }
            self.mode = mode
        } else {
            guard destroy else { throw .missing("mode") }
            mode = .allParticipants
        }
        leave = try DeletionQuery.flag("leave", parameter) && mode == .myDevices
    }

    private static func flag(_ name: String, _ parameter: (String) -> String?) throws(Failure) -> Bool {
        switch parameter(name) {
        case nil, "", "false", "0": return false
        case "true", "1": return true
        default: throw .invalid(name, "must be true or false")
        }
    }
}

/// Too large is cut down; what is no page size at all is refused.
private func checkedPageSize(_ text: String?, maximum: Int) throws(Failure) -> Int {
    guard let text, !text.isEmpty else { return maximum }
    guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
        throw .invalid("page_size", "must be a positive integer")
    }
    // Digits only, so that it can fail by nothing but its size.
    let size = Int(text) ?? Int.max
    guard size > 0 else { throw .invalid("page_size", "must be a positive integer") }
    return min(size, maximum)
}
