// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// The identifier of a webhook.
public struct WebhookID: ObjectID {
    /// The path segment in an id that does not name the app.
    public static let path = "webhooks"
    /// The UUID, generated when the webhook is registered.
    public let rawValue: UUID
    /// Creates an id from any UUID. Only the database knows whether the webhook exists.
    public init(rawValue: UUID) { self.rawValue = rawValue }

    /// Returns the identifier in the format of the Server API and of receivers: `layer:///apps/<app>/webhooks/<uuid>`.
    public func layerID(in app: AppID) -> String { "\(Self.prefix(in: app))\(self)" }

    /// Parses a bare UUID, ``layerID(in:)`` or `layer:///webhooks/<uuid>`. Returns nil for anything else, such as a
    /// webhook of another app.
    public init?(parsing text: some StringProtocol, in app: AppID) {
        let (text, prefix) = (String(text), Self.prefix(in: app))
        guard text.lowercased().hasPrefix(prefix) else {
            self.init(parsing: text)
            return
        }
        guard let uuid = UUID(uuidString: String(text.dropFirst(prefix.count))) else { return nil }
        self.init(rawValue: uuid)
    }

    private static func prefix(in app: AppID) -> String { "layer:///apps/\(app)/webhooks/" }
}

/// A webhook: the registration of an app's server for events.
public struct Webhook: Hashable, Sendable {
    /// The states of a webhook. Only an active one receives events.
    public enum Status: String, Sendable {
        /// The receiver is being verified: it is asked whether it wants the events, or has just confirmed it.
        case unverified
        case active
        case inactive
    }

    /// The id, generated at registration.
    public var id: WebhookID
    /// The app whose server receives the events.
    public var app: AppID
    /// The version of the payloads.
    public var version: WebhookVersion
    /// The receiver's URL: HTTPS, except in development.
    public var targetURL: String
    /// The names of the subscribed events, as the app's server specified them.
    public var events: [String]
    /// The app's key-value pairs that are sent with each event.
    public var config: [String: String]
    /// The state, which determines whether the webhook receives events.
    public var status: Status
    /// The reason why the webhook is inactive.
    public var statusReason: String?
    /// The time of registration.
    public var createdAt: Timestamp

    /// Creates a webhook without validation.
    public init(
        id: WebhookID, app: AppID, version: WebhookVersion, targetURL: String, events: [String],
        config: [String: String], status: Status,
        statusReason: String?, createdAt: Timestamp
    ) {
        self.id = id
        self.app = app
        self.version = version
        self.targetURL = targetURL
        self.events = events
        self.config = config
        self.status = status
        self.statusReason = statusReason
        self.createdAt = createdAt
    }
}

/// One attempt to deliver an event to a webhook.
public struct WebhookDelivery: Hashable, Sendable {
    /// The id of the event.
    public var event: UUID
    /// The event's name in the webhook's version.
    public var type: String
    /// The time of the event.
    public var createdAt: Timestamp
    /// The time at which the attempt began.
    public var attemptedAt: Timestamp
    /// The number of the attempt, from 1.
    public var attempt: Int
    /// True if the receiver accepted the event.
    public var isDelivered: Bool
    /// The status of the HTTP response; nil: no response.
    public var responseStatus: Int?
    /// The time from the beginning of the attempt to the response or the failure.
    public var latency: Duration
    /// The reason for the failure; nil if there was none.
    public var error: String?

    /// Creates a delivery without validation.
    public init(
        event: UUID, type: String, createdAt: Timestamp, attemptedAt: Timestamp, attempt: Int, isDelivered: Bool,
        responseStatus: Int?,
        latency: Duration, error: String?
    ) {
        self.event = event
        self.type = type
        self.createdAt = createdAt
        self.attemptedAt = attemptedAt
        self.attempt = attempt
        self.isDelivered = isDelivered
        self.responseStatus = responseStatus
        self.latency = latency
        self.error = error
    }
}

/// An event for webhooks, with the state of its objects at the time of the event.
public struct WebhookEvent: Sendable {
    /// The objects of an event.
    public enum Content: Sendable {
        /// A message in its state after the event; without parts if it was deleted.
        case message(Message)
        /// A part of a message. If the part was deleted, the message does not contain it.
        case part(UUID, of: Message)
        /// Receipts of the messages between two positions, both inclusive.
        case receipts(RecipientStatus, from: Position, to: Position, in: ConversationID)
        /// A conversation, and the changes of its metadata.
        case conversation(Conversation, effects: [MetadataEffect]?)
        /// Users who were added or removed.
        case participation([BasicIdentity], in: Conversation)
        /// A notification for the devices of one user.
        case push(Push)
        /// No object: a test.
        case nothing
    }

    /// A push notification, with the data that an operator's relay needs to reach a user's devices.
    public struct Push: Sendable {
        /// The id of the notification.
        public var id: UUID
        /// The user whose devices receive the notification.
        public var user: UserID
        /// The number for the app icon's badge; nil: unknown.
        public var badge: Int?
        /// The notification as a JSON object, as written by the app's server.
        public var notification: String
        /// A JSON array with one object for each device: `device_id`, `type`, `token` and their attributes.
        public var tokens: String
        /// The conversation of the message in ``message``; nil: none.
        public var conversation: ConversationID?
        /// The message that caused the notification; nil: none.
        public var message: MessageID?

        /// Creates a notification without validation.
        public init(
            id: UUID, user: UserID, badge: Int?, notification: String, tokens: String, conversation: ConversationID?,
            message: MessageID?
        ) {
            self.id = id
            self.user = user
            self.badge = badge
            self.notification = notification
            self.tokens = tokens
            self.conversation = conversation
            self.message = message
        }
    }

    /// The id of the event, equal in all its delivery attempts.
    public var id: UUID
    /// The kind of the event.
    public var kind: WebhookEventKind
    /// The time of the event.
    public var createdAt: Timestamp
    /// The user who caused the event; nil: the app's own server.
    public var actor: BasicIdentity?
    /// The affected objects.
    public var content: Content

    /// Creates an event without validation.
    public init(id: UUID, kind: WebhookEventKind, createdAt: Timestamp, actor: BasicIdentity?, content: Content) {
        self.id = id
        self.kind = kind
        self.createdAt = createdAt
        self.actor = actor
        self.content = content
    }
}

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
    /// A test by an operator. It is never recorded, and a webhook cannot subscribe to it.
    case test = "Test"

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
        case .messageDelivered, .messageRead, .participantsUpdated, .test: return nil
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
