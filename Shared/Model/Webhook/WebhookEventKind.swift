// SPDX-License-Identifier: Apache-2.0

/// A version of the payloads that a webhook is sent.
public enum WebhookVersion: String, Hashable, Sendable, CaseIterable {
    case v1 = "1.0"
    case v2 = "2.0"
    case v3 = "3.0"
}

/// What a webhook can be told of. The raw value is how the database names it.
public enum WebhookEventKind: String, Hashable, Sendable, CaseIterable {
    case messageCreated = "Message.created"
    case messageUpdated = "Message.updated"
    case messageDeleted = "Message.deleted"
    case partCreated = "MessagePart.created"
    case partUpdated = "MessagePart.updated"
    case partDeleted = "MessagePart.deleted"
    /// Receipts of a run of messages, since 2.0.
    case receiptCreated = "Receipt.created"
    /// A receipt of one message, in 1.0.
    case messageDelivered = "message.delivered"
    /// A receipt of one message, in 1.0.
    case messageRead = "message.read"
    case conversationCreated = "Conversation.created"
    case conversationUpdated = "Conversation.updated"
    case conversationDeleted = "Conversation.deleted"
    case participationCreated = "Participation.created"
    case participationDeleted = "Participation.deleted"
    /// Any change of participants, in 1.0.
    case participantsUpdated = "conversation.updated.participants"
    /// A notification for the devices of one user.
    case push = "Push"

    /// What an app's server calls it.
    public func name(in version: WebhookVersion) -> String {
        guard version == .v1 else { return rawValue }
        return Self.firstNames.first { $0.value == self }?.key ?? rawValue
    }

    /// Returns the kinds of events that a name stands for in a version.
    /// - Parameter name: a released name, see ``released(name:in:)``.
    /// - Returns: nil for a name that the version does not have; an empty array for a name of the version that never happens in Strata.
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

    /// Of channels, which Strata does not have.
    private static let neverHappening = Set(["Channel", "Membership"].flatMap { kind in ["created", "updated", "deleted"].map { "\(kind).\($0)" } })

    private static let firstNames: [String: WebhookEventKind] = [
        "message.sent": .messageCreated, "message.delivered": .messageDelivered, "message.read": .messageRead, "message.deleted": .messageDeleted,
        "conversation.created": .conversationCreated, "conversation.updated.participants": .participantsUpdated,
        "conversation.updated.metadata": .conversationUpdated, "conversation.deleted": .conversationDeleted,
    ]

    /// Returns the released name of an event. Version 1.0 had other names for two events before it was released; registrations may still use them.
    public static func released(name: String, in version: WebhookVersion) -> String {
        version == .v1 ? preReleaseNames[name] ?? name : name
    }

    private static let preReleaseNames = [
        "conversation.participants_updated": "conversation.updated.participants",
        "conversation.metadata_updated": "conversation.updated.metadata",
    ]
}
