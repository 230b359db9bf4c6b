// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `POST /apps/:app/announcements`.
public struct AnnouncementBody: Hashable, Sendable {
    /// The sender in whose name the announcement is sent.
    public enum Sender: Hashable, Sendable {
        /// A name, in 1.x only.
        case name(String)
        /// A user, since 2.0.
        case user(UserID)
    }

    /// The id chosen by the app's server; nil: none.
    public var id: AnnouncementID?
    /// The sender.
    public var sender: Sender
    /// The recipients, without duplicates.
    public var recipients: [UserID]
    /// The parts, at least one.
    public var parts: [MessagePart]
    /// The notification as JSON text.
    public var notification: String?

    /// Parses the body.
    /// - Throws: ``Failure`` naming the invalid property. Missing properties are reported before invalid ones.
    public init(_ json: JSONValue, version: ServerVersion, partsLimit: Int = Limits.partsPerMessage) throws(Failure) {
        let members = try Members(json.withoutEmptyIDs)
        guard members["recipients"] != nil else { throw .missing("recipients") }
        sender = try AnnouncementBody.sender(members, version: version)
        guard let parts = try members.array("parts") else { throw .missing("parts") }
        recipients = try RecipientList.users(members["recipients"])
        self.parts = try PartBody.parts(
            try PartBody.fromServer(parts), of: nil, version: version.clientVersion, limit: partsLimit)
        if let index = self.parts.firstIndex(where: { $0.contentID != nil }) {
            throw .invalid(
                "parts.\(index).content", reason: "cannot be in an announcement: content belongs to conversations")
        }
        if let index = self.parts.firstIndex(where: { $0.size > Limits.inlinePartUnits }) {
            throw .invalid("parts.\(index).body", reason: "is longer than \(Limits.inlinePartUnits) bytes")
        }
        notification = SendMessageBody.notification(members["notification"])
        id = nil
        if let text = try members.string("id") {
            guard let id = AnnouncementID(parsing: text) else {
                throw members.invalid("id", reason: "is not the id of an announcement")
            }
            self.id = id
        }
    }

    private static func sender(_ members: Members, version: ServerVersion) throws(Failure) -> Sender {
        guard version < .v2 else {
            guard let text = try members.string("sender_id"), !text.isEmpty else { throw .missing("sender_id") }
            guard let user = RequestSender.server.userID(text) else {
                throw .invalid("sender_id", reason: "is not the id of an identity")
            }
            return .user(user)
        }
        guard let object = members["sender"] else { throw .missing("sender") }
        guard case .object = object else { throw .invalid("sender", reason: "must be an object") }
        let sender = try Members(object)
        if let user = sender["user_id"], user != .string("") {
            throw .invalid("sender.user_id", reason: "cannot send an announcement in 1.x")
        }
        guard let name = try sender.string("name"), !name.isEmpty else { throw .missing("sender.name") }
        guard IdentityLimits.fits(name, within: ServerMessageBody.nameScalars) else {
            throw .invalid(
                "sender.name",
                reason: "is longer than \(ServerMessageBody.nameScalars) characters, or contains a NUL character")
        }
        return .name(name)
    }
}

/// The body of `POST /apps/:app/notifications`: a push notification that is not stored.
public struct NotificationBody: Hashable, Sendable {
    /// The recipients, without duplicates.
    public var recipients: [UserID]
    /// The notification as JSON text of an object, without ``overrides``.
    public var notification: String
    /// A JSON object by user id: the members that replace those of ``notification`` for some recipients.
    public var overrides: String

    /// Parses the body.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        guard members["recipients"] != nil else { throw .missing("recipients") }
        guard let value = members["notification"] else { throw .missing("notification") }
        guard case .object(let object) = value else { throw .invalid("notification", reason: "must be an object") }
        recipients = try RecipientList.users(members["recipients"])
        let hasText = value["text"]?.stringValue?.isEmpty == false
        guard hasText || value["data"]?.objectValue?.isEmpty == false else { throw .missing("notification.text") }
        if let data = value["data"], !data.isNull {
            guard case .object(let entries) = data, entries.allSatisfy({ $0.value.stringValue != nil }) else {
                throw .invalid("notification.data", reason: "must be an object of strings")
            }
        }
        notification = NotificationBody.text(
            of: .object(object.unique.filter { $0.name != "recipients" && !$0.value.isNull }))
        guard notification.utf8.count <= SendMessageBody.notificationBytes, !notification.utf8.contains(0) else {
            throw .invalid("notification", reason: "is longer than \(SendMessageBody.notificationBytes) bytes")
        }
        overrides = NotificationBody.text(of: try NotificationBody.overrides(value["recipients"]))
    }

    private static func overrides(_ value: JSONValue?) throws(Failure) -> JSONValue {
        guard let value, !value.isNull else { return .object([]) }
        guard case .object(let members) = value else {
            throw .invalid("notification.recipients", reason: "must be an object")
        }
        var overrides: [JSONValue.Member] = []
        for member in members.unique where !member.value.isNull {
            guard let user = RequestSender.server.userID(member.name), case .object(let own) = member.value else {
                throw .invalid(
                    "notification.recipients", reason: "must have the ids of users as keys, and objects as values")
            }
            overrides.append(.init(user.rawValue, value: .object(own.filter { !$0.value.isNull })))
        }
        return .object(overrides)
    }

    private static func text(of value: JSONValue) -> String {
        var writer = JSONWriter(capacity: 256)
        writer.value(value)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// A parser for lists of users from an app's own server: identity ids or unencoded user ids.
enum RecipientList {
    /// Parses the value of the member `recipients`.
    static func users(_ value: JSONValue?) throws(Failure) -> [UserID] {
        guard case .array(let elements)? = value else {
            throw .invalid("recipients", reason: "must be an array of the ids of users")
        }
        guard !elements.isEmpty else { throw .invalid("recipients", reason: "must have at least one element") }
        var seen: Set<UserID> = []
        var users: [UserID] = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element, let user = RequestSender.server.userID(text) else {
                throw .invalid("recipients.\(index)", reason: "is not the id of an identity")
            }
            if seen.insert(user).inserted { users.append(user) }
        }
        return users
    }
}
