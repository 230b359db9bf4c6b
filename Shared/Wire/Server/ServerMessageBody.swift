// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// A message from an app's own server: the body of `POST /apps/:app/conversations/:id/messages`, or an element of an
/// array body.
public struct ServerMessageBody: Hashable, Sendable {
    /// The sender in whose name the message is sent.
    public enum Sender: Hashable, Sendable {
        case user(UserID)
        /// A name of at most ``nameScalars`` Unicode scalars, in 1.x only.
        case name(String)
    }

    /// The schedule of a message with delayed sending.
    public struct Schedule: Hashable, Sendable {
        /// The delay before sending, in milliseconds.
        public var delay: Int64
        /// The duration for which the sender is shown as typing before the message is sent, in milliseconds; 0: never.
        public var typing: Int64
        /// Creates a schedule without validation. ``ServerMessageBody`` validates the values.
        public init(delay: Int64, typing: Int64) {
            self.delay = delay
            self.typing = typing
        }
    }

    /// The maximum length of a sender's name, in Unicode scalars, equal to that of an identity's display name.
    public static let nameScalars = 128
    /// The maximum number of messages in a body.
    public static let maximumBatchSize = 12
    /// The range of a delay, in seconds.
    public static let delayRange = 1.0...300.0

    /// The sender.
    public var sender: Sender
    /// The message's id, parts and notification.
    public var content: SendMessageBody
    /// The schedule; nil: the message is sent immediately.
    public var schedule: Schedule?

    /// Parses a message.
    /// - Throws: ``Failure`` naming the invalid property. Missing properties are reported before invalid ones.
    public init(_ json: JSONValue, version: ServerVersion, partsLimit: Int = Limits.partsPerMessage) throws(Failure) {
        let members = try Members(json)
        sender = try ServerMessageBody.sender(members, version: version)
        content = try SendMessageBody(
            try ServerMessageBody.fromServer(json), version: version.clientVersion, partsLimit: partsLimit)
        for (index, part) in content.parts.enumerated() { try part.checkInlineBytes("parts.\(index).body") }
        schedule = try members["schedule"].map { value throws(Failure) in try ServerMessageBody.schedule(value) }
    }

    /// Parses a body with one message, or with an array of at most ``maximumBatchSize`` messages.
    /// - Returns: the messages, and true if the body is an array.
    public static func messages(
        _ json: JSONValue, version: ServerVersion, partsLimit: Int = Limits.partsPerMessage
    ) throws(Failure) -> (messages: [ServerMessageBody], isBatch: Bool) {
        guard case .array(let elements) = json else {
            return ([try ServerMessageBody(json, version: version, partsLimit: partsLimit)], false)
        }
        guard !elements.isEmpty else {
            throw Failure(.invalidRequest, "The body must be a message, or an array of at least one.")
        }
        guard elements.count <= maximumBatchSize else {
            throw .invalid("messages", reason: "must be from 1 to \(maximumBatchSize)")
        }
        var messages: [ServerMessageBody] = []
        for (index, element) in elements.enumerated() {
            guard case .object = element else { throw .invalid("\(index)", reason: "must be an object") }
            do throws(Failure) {
                messages.append(try ServerMessageBody(element, version: version, partsLimit: partsLimit))
            } catch {
                guard case .property(let name) = error.detail else { throw error }
                throw Failure(
                    error.code, "In message \(index): \(error.message)", detail: .property("\(index).\(name)"))
            }
        }
        return (messages, true)
    }

    /// Converts the body to the format that ``SendMessageBody`` parses.
    private static func fromServer(_ json: JSONValue) throws(Failure) -> JSONValue {
        guard case .object(var members) = json.withoutEmptyIDs else { return json }
        for index in members.indices where members[index].name == "parts" {
            guard case .array(let parts) = members[index].value else { continue }
            members[index] = JSONValue.Member("parts", value: .array(try PartBody.fromServer(parts)))
        }
        return .object(members)
    }

    /// Parses the sender: in 1.x an object with a user's id or a name, since 2.0 the id of an identity.
    private static func sender(_ members: Members, version: ServerVersion) throws(Failure) -> Sender {
        guard version < .v2 else {
            guard let text = try members.string("sender_id"), !text.isEmpty else { throw members.missing("sender_id") }
            guard let user = RequestSender.server.userID(text) else {
                throw members.invalid("sender_id", reason: "is not the id of an identity")
            }
            return .user(user)
        }
        guard let object = members["sender"] else { throw members.missing("sender") }
        guard case .object = object else { throw members.invalid("sender", reason: "must be an object") }
        let sender = try Members(object)
        let user = try sender.string("user_id").flatMap { $0.isEmpty ? nil : $0 }
        let name = try sender.string("name").flatMap { $0.isEmpty ? nil : $0 }
        switch (user, name) {
        case (nil, nil): throw .missing("sender.user_id")
        case (_?, _?): throw members.invalid("sender", reason: "has both a user_id and a name")
        case (let text?, nil):
            guard let user = RequestSender.server.userID(text) else {
                throw .invalid("sender.user_id", reason: "is not a user id")
            }
            return .user(user)
        case (nil, let name?):
            guard name.unicodeScalars.count <= nameScalars, !name.utf8.contains(0) else {
                throw .invalid(
                    "sender.name", reason: "is longer than \(nameScalars) characters, or contains a NUL character")
            }
            return .name(name)
        }
    }

    private static func schedule(_ json: JSONValue) throws(Failure) -> Schedule {
        guard case .object = json else { throw .invalid("schedule", reason: "must be an object") }
        let members = try Members(json)
        guard let value = members["delay_in_seconds"] else { throw .missing("schedule.delay_in_seconds") }
        guard let delay = value.doubleValue, delayRange.contains(delay) else {
            throw .invalid("schedule.delay_in_seconds", reason: "must be a number from 1 to 300")
        }
        let typing = try members["typing_indicator_in_seconds"]
            .map { value throws(Failure) in
                guard let typing = value.doubleValue, typing == 0 || typing >= delayRange.lowerBound && typing <= delay
                else {
                    throw .invalid(
                        "schedule.typing_indicator_in_seconds", reason: "must be 0, or a number from 1 to the delay")
                }
                return typing
            }
        return Schedule(delay: Int64(delay * 1000), typing: Int64((typing ?? 0) * 1000))
    }
}

extension MessagePart {
    /// Checks the length of inline content in bytes, as the Server API limits it. The Client API counts UTF-16 units
    /// instead.
    /// - Parameter name: the name of the body for the failure.
    public func checkInlineBytes(_ name: String) throws(Failure) {
        guard contentID != nil || size <= Limits.inlinePartUnits else {
            throw .invalid(name, reason: "is longer than \(Limits.inlinePartUnits) bytes")
        }
    }
}

extension JSONValue {
    fileprivate var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}
