// SPDX-License-Identifier: Apache-2.0

/// A version of the payloads for webhooks.
public enum WebhookVersion: String, Hashable, Sendable, CaseIterable {
    case v1 = "1.0"
    case v2 = "2.0"
    case v3 = "3.0"
}

/// The kinds of events for webhooks. The raw value is the name in the database.
public enum WebhookEventKind: String, Hashable, Sendable, CaseIterable {
    case messageCreated = "Message.created"
    case messageUpdated = "Message.updated"
    case messageDeleted = "Message.deleted"
    case partCreated = "MessagePart.created"
    case partUpdated = "MessagePart.updated"
    case partDeleted = "MessagePart.deleted"
    /// Receipts of consecutive messages, since version 2.0.
    case receiptCreated = "Receipt.created"
    /// A receipt of one message, in version 1.0.
    case messageDelivered = "message.delivered"
    /// A receipt of one message, in version 1.0.
    case messageRead = "message.read"
    case conversationCreated = "Conversation.created"
    case conversationUpdated = "Conversation.updated"
    case conversationDeleted = "Conversation.deleted"
    case participationCreated = "Participation.created"
    case participationDeleted = "Participation.deleted"
    /// Any change of participants, in version 1.0.
    case participantsUpdated = "conversation.updated.participants"
    /// A push notification for the devices of one user.
    case push = "Push"

    /// Returns the name of the event kind in a version.
    public func name(in version: WebhookVersion) -> String {
        guard version == .v1 else { return rawValue }
        return Self.firstNames.first { $0.value == self }?.key ?? rawValue
    }

    /// Returns the event kinds that a name denotes in a version.
    /// - Parameter name: a released name, see ``released(name:in:)``.
    /// - Returns: nil for a name that the version does not define; an empty array for a defined name whose events never
    ///   occur in Strata.
    public static func kinds(named name: String, in version: WebhookVersion) -> [WebhookEventKind]? {
        if version == .v1 {
            if let kind = firstNames[name] { return [kind] }
            return name == push.rawValue ? [.push] : nil
        }
        if neverHappening.contains(name) { return [] }
        guard let kind = WebhookEventKind(rawValue: name) else { return nil }
        switch kind {
        case .messageDelivered, .messageRead, .participantsUpdated: return nil
        case .partCreated, .partUpdated, .partDeleted: return version == .v3 ? [kind] : nil
        default: return [kind]
        }
    }

    /// Events of channels, which Strata does not have.
    private static let neverHappening = Set(
        ["Channel", "Membership"].flatMap { kind in ["created", "updated", "deleted"].map { "\(kind).\($0)" } })

    private static let firstNames: [String: WebhookEventKind] = [
        "message.sent": .messageCreated, "message.delivered": .messageDelivered, "message.read": .messageRead,
        "message.deleted": .messageDeleted,
        "conversation.created": .conversationCreated, "conversation.updated.participants": .participantsUpdated,
        "conversation.updated.metadata": .conversationUpdated, "conversation.deleted": .conversationDeleted,
    ]

    /// Returns the released name of an event. Before its release, version 1.0 used other names for two events;
    /// registrations may still contain them.
    public static func released(name: String, in version: WebhookVersion) -> String {
        version == .v1 ? preReleaseNames[name] ?? name : name
    }

    private static let preReleaseNames = [
        "conversation.participants_updated": "conversation.updated.participants",
        "conversation.metadata_updated": "conversation.updated.metadata",
    ]
}
