// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `POST /sessions` (docs/conformance.md §3.4).
public struct SessionBody: Hashable, Sendable {
    /// The app to sign in to.
    public var appID: AppID
    /// The identity token, not yet verified.
    public var identityToken: String

    /// Parses the body.
    /// - Throws: ``Failure`` naming the invalid property; `invalid_app_id` for a malformed app id.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        identityToken = try members.requiredString("identity_token")
        let text = try members.requiredString("app_id")
        guard let appID = AppID(parsing: text) else {
            throw Failure(.invalidAppID, "There is no such app.", detail: .property("app_id"))
        }
        self.appID = appID
    }
}

/// The body of `POST /messages/:uuid/receipts` (docs/conformance.md §7).
public struct ReceiptBody: Hashable, Sendable {
    /// The kind of the receipt.
    public var kind: ReceiptKind

    /// Parses the body.
    /// - Throws: ``Failure`` naming `type`.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        guard let kind = ReceiptKind(rawValue: try members.requiredString("type")) else {
            throw members.invalid("type", reason: "must be read or delivery")
        }
        self.kind = kind
    }
}

/// The body of `POST /conversations/:uuid/mark_all_read` (docs/conformance.md §5.8).
public struct MarkAllReadBody: Hashable, Sendable {
    /// The position up to which messages are marked as read; nil: all messages.
    public var upTo: Position?

    /// Parses the body.
    /// - Parameter json: nil if the request has no body.
    /// - Throws: ``Failure`` naming `position`.
    public init(_ json: JSONValue?) throws(Failure) {
        guard let json else { return }
        let members = try Members(json)
        guard let value = members["position"] else { return }
        guard let position = value.integerValue else {
            throw members.invalid("position", reason: "must be an integer or null")
        }
        upTo = Position(wireValue: position)
    }
}

/// The data of `Event.replay` (docs/conformance.md §12.9).
public struct ReplayBody: Hashable, Sendable {
    /// The time from which changes are replayed.
    public var from: Timestamp

    /// Parses the data.
    /// - Throws: ``Failure`` naming `from_timestamp`.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        guard let time = ISO8601.parse(try members.requiredString("from_timestamp")) else {
            throw members.invalid("from_timestamp", reason: "is not an ISO 8601 time")
        }
        from = time
    }
}

/// The data of `Presence.update`: patch operations on the user's own presence (docs/conformance.md §12.8).
public struct PresenceUpdateBody: Hashable, Sendable {
    /// The statuses that a client can request.
    public enum Status: Hashable, Sendable {
        /// The status that the user chose last, or `available`.
        case auto
        case chosen(Presence.Status)
    }
    /// The requested status; nil: none.
    public var status: Status?

    /// Parses the data.
    /// - Throws: ``Failure``: `invalid_request` if it is not a list of operations, otherwise naming `status` or a
    ///   property that cannot be set.
    public init(_ json: JSONValue) throws(Failure) {
        guard case .array(let operations) = json else {
            throw Failure(.invalidRequest, "The data must be an array of operations.")
        }
        for (index, operation) in operations.enumerated() {
            guard case .object = operation, case .string(let property)? = operation["property"] else {
                throw Failure(.invalidRequest, "The patch is malformed.", detail: .property("\(index)"))
            }
            guard property == "status" else {
                throw .invalid(String(property.unicodeScalars.prefix(100)), reason: "cannot be set")
            }
            guard case .string("set")? = operation["operation"] else {
                throw Failure(.invalidOperation, "The property status can only be set.", detail: .property("status"))
            }
            guard case .string(let word)? = operation["value"] else {
                throw .invalid("status", reason: "must be a string")
            }
            if word == "auto" {
                status = .auto
            } else {
                guard let chosen = Presence.Status(rawValue: word) else {
                    throw .invalid("status", reason: "is not a status")
                }
                status = .chosen(chosen)
            }
        }
    }
}

/// The data of `Presence.sync` (docs/conformance.md §12.8).
public enum PresenceSyncBody: Hashable, Sendable {
    /// Requests the presence of these users.
    case users([UserID])
    /// Requests changes of followed users since a time.
    case since(Timestamp)

    /// Parses the data.
    /// - Throws: ``Failure`` naming `ids` or `since`.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        if let elements = try members.array("ids") {
            self = .users(try userIDs(elements, in: "ids"))
        } else if let text = try members.string("since") {
            guard let time = ISO8601.parse(text) else {
                throw members.invalid("since", reason: "is not an ISO 8601 time")
            }
            self = .since(time)
        } else {
            throw members.missing("ids")
        }
    }
}

/// The body of `POST /following/users`: identity ids or user ids (docs/conformance.md §4.4).
public struct FollowBody: Hashable, Sendable {
    /// The users, without duplicates.
    public var users: [UserID]
    /// The maximum number of users.
    public static let limit = 1000

    /// Parses the body.
    /// - Parameter sender: the sender of the request. An app's own server sends user ids without encoding, also on
    ///   behalf of a user.
    /// - Throws: ``Failure``: `invalid_request` if the body is not an array, otherwise naming the element.
    public init(_ json: JSONValue, from sender: RequestSender = .client) throws(Failure) {
        guard case .array(let elements) = json else {
            throw Failure(.invalidRequest, "The body must be an array of user ids.")
        }
        guard elements.count <= FollowBody.limit else {
            throw .invalid("user_ids", reason: "names more than \(FollowBody.limit) users")
        }
        users = try userIDs(elements, in: "user_ids", from: sender)
    }
}

/// The body of `POST /push_tokens` (docs/conformance.md §3.7).
public struct PushTokenBody: Hashable, Sendable {
    /// The maximum length of each text, in bytes.
    public static let textBytes = 4096

    /// The push service: `apns` or `gcm`.
    public var type: String
    /// The token that identifies the device to the push service.
    public var token: String
    /// The id of the device, stable for the lifetime of the app's installation.
    public var deviceID: String
    /// The app's bundle id, for `apns`.
    public var apnsBundleID: String?
    /// The sender id, for `gcm`.
    public var gcmSenderID: String?
    /// The version of iOS, for example `9.0`.
    public var iosVersion: String?

    /// Parses the body.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        token = try PushTokenBody.text("token", in: members)
        type = try members.requiredString("type")
        guard type == "apns" || type == "gcm" else { throw members.invalid("type", reason: "must be apns or gcm") }
        deviceID = try PushTokenBody.text("device_id", in: members)
        apnsBundleID = try PushTokenBody.optionalText("apns_bundle_id", in: members)
        gcmSenderID = try PushTokenBody.optionalText("gcm_sender_id", in: members)
        iosVersion = try PushTokenBody.optionalText("ios_version", in: members)
    }

    private static func text(_ name: StaticString, in members: Members) throws(Failure) -> String {
        guard let text = try optionalText(name, in: members) else { throw members.missing(name) }
        guard !text.isEmpty else { throw members.invalid(name, reason: "is empty") }
        return text
    }

    private static func optionalText(_ name: StaticString, in members: Members) throws(Failure) -> String? {
        guard let text = try members.string(name) else { return nil }
        guard text.utf8.count <= textBytes, !text.utf8.contains(0) else {
            throw members.invalid(name, reason: "is longer than \(textBytes) bytes, or contains a NUL character")
        }
        return text
    }
}

/// The body of `POST /conversations/:uuid/receipts`: a receipt for several messages of a conversation.
public struct ReceiptsBody: Hashable, Sendable {
    /// The maximum number of messages in a request.
    public static let limit = 1000

    /// The kind of the receipt.
    public var kind: ReceiptKind
    /// The messages without duplicates, at least one.
    public var messages: [MessageID]

    /// Parses the body.
    /// - Throws: ``Failure`` naming `type`, `ids` or an element of `ids`.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        kind = try ReceiptBody(json).kind
        guard let elements = try members.array("ids") else { throw members.missing("ids") }
        guard (1...ReceiptsBody.limit).contains(elements.count) else {
            throw members.invalid("ids", reason: "must name 1 to \(ReceiptsBody.limit) messages")
        }
        var seen: Set<MessageID> = []
        messages = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element, let id = MessageID(parsing: text) else {
                throw .invalid("ids.\(index)", reason: "is not the id of a message")
            }
            if seen.insert(id).inserted { messages.append(id) }
        }
    }
}

/// An operation on the list of users that a user has blocked.
public enum BlockListOperation: Hashable, Sendable {
    case add([UserID])
    case remove([UserID])
    /// Replaces the list. All other users are unblocked.
    case set([UserID])

    /// Returns true if the operation blocks this user.
    public func blocks(_ user: UserID) -> Bool {
        switch self {
        case .add(let users), .set(let users): users.contains(user)
        case .remove: false
        }
    }
}

/// The body of an app server's request to block one user: `{"user_id": "ben"}`.
public struct BlockBody: Hashable, Sendable {
    /// The user to block.
    public let user: UserID

    /// Parses the body.
    /// - Throws: ``Failure`` `missing_property` or `invalid_property` for `user_id`.
    public init(_ json: JSONValue) throws(Failure) {
        let text = try Members(json).requiredString("user_id")
        guard let user = RequestSender.server.userID(text) else {
            throw .invalid("user_id", reason: "is not a user id")
        }
        self.user = user
    }
}
