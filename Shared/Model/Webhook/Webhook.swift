// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// Identifies a webhook.
public struct WebhookID: ObjectID {
    /// Where it stands in an id that does not name the app.
    public static let path = "webhooks"
    /// Made when the webhook is registered.
    public let rawValue: UUID
    /// Takes any UUID; whether there is such a webhook is for the database to say.
    public init(rawValue: UUID) { self.rawValue = rawValue }

    /// The identifier as the Server API and receivers spell it: `layer:///apps/<app>/webhooks/<uuid>`.
    public func layerID(in app: AppID) -> String { "\(Self.prefix(in: app))\(self)" }

    /// Reads a bare UUID, ``layerID(in:)`` or `layer:///webhooks/<uuid>`; nil for anything else, such as the webhook of another app.
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

/// Where an app's server wants to be told of events.
public struct Webhook: Hashable, Sendable {
    /// Whether it is told.
    public enum Status: String, Sendable {
        /// The receiver is being asked whether it wants the events, or has just said so.
        case unverified
        case active
        case inactive
    }

    /// Made when it was registered.
    public var id: WebhookID
    /// Whose server is told.
    public var app: AppID
    /// Of the payloads.
    public var version: WebhookVersion
    /// HTTPS, except in development.
    public var targetURL: String
    /// As the app's server named them.
    public var events: [String]
    /// Sent along with each event.
    public var config: [String: String]
    /// Whether it is told.
    public var status: Status
    /// Why it is inactive.
    public var statusReason: String?
    /// When it was registered.
    public var createdAt: Timestamp

    /// Takes everything as it is.
    public init(
        id: WebhookID, app: AppID, version: WebhookVersion, targetURL: String, events: [String], config: [String: String], status: Status,
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
    /// Of the event.
    public var event: UUID
    /// As the webhook's version names it.
    public var type: String
    /// When the event happened.
    public var createdAt: Timestamp
    /// When the attempt began.
    public var attemptedAt: Timestamp
    /// Counted from 1.
    public var attempt: Int
    /// Whether the receiver accepted it.
    public var isDelivered: Bool
    /// Of the HTTP response; nil: there was none.
    public var responseStatus: Int?
    /// From the beginning of the attempt to the response, or to its failure.
    public var latency: Duration
    /// Why it failed.
    public var error: String?

    /// Takes everything as it is.
    public init(
        event: UUID, type: String, createdAt: Timestamp, attemptedAt: Timestamp, attempt: Int, isDelivered: Bool, responseStatus: Int?,
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

/// What a webhook is told, as it was when it happened.
public struct WebhookEvent: Sendable {
    /// What happened.
    public enum Content: Sendable {
        /// A message, as it is after the event; without parts if it was deleted.
        case message(Message)
        /// A part of a message, which the message does not have any more if it was deleted.
        case part(UUID, of: Message)
        /// Receipts of the messages from one position to another, both included.
        case receipts(RecipientStatus, from: Position, to: Position, in: ConversationID)
        /// A conversation, and what of its metadata changed.
        case conversation(Conversation, effects: [MetadataEffect]?)
        /// Users who were added or removed.
        case participation([BasicIdentity], in: Conversation)
        /// A notification for the devices of one user.
        case push(Push)
    }

    /// What an operator's relay needs to reach the devices of a user.
    public struct Push: Sendable {
        /// Of the notification.
        public var id: UUID
        /// Whose devices are meant.
        public var user: UserID
        /// What the devices show at the app's icon; nil: it is not known.
        public var badge: Int?
        /// A JSON object, as the app's server wrote it.
        public var notification: String
        /// A JSON array: of each device `device_id`, `type` and `token`, and what belongs to them.
        public var tokens: String
        /// Of the message that the notification is about; nil: it is about none.
        public var conversation: ConversationID?
        /// The message that the notification is about.
        public var message: MessageID?

        /// Takes everything as it is.
        public init(
            id: UUID, user: UserID, badge: Int?, notification: String, tokens: String, conversation: ConversationID?, message: MessageID?
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

    /// A repetition has the same.
    public var id: UUID
    /// What happened, in a word.
    public var kind: WebhookEventKind
    /// When it happened.
    public var createdAt: Timestamp
    /// Who caused it; nil: the app's own server.
    public var actor: BasicIdentity?
    /// The objects that it concerns.
    public var content: Content

    /// Takes everything as it is.
    public init(id: UUID, kind: WebhookEventKind, createdAt: Timestamp, actor: BasicIdentity?, content: Content) {
        self.id = id
        self.kind = kind
        self.createdAt = createdAt
        self.actor = actor
        self.content = content
    }
}
