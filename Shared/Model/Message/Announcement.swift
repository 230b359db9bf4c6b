// SPDX-License-Identifier: Apache-2.0

/// A message without a conversation, from the application to a list of its users, as one of them sees it (docs/conformance.md §9).
public struct Announcement: Hashable, Sendable {
    /// Chosen by the application's server, or given to it.
    public var id: AnnouncementID
    /// The position of the entry of this user's own log that told the user of it.
    public var position: Position
    /// As it was told; a user with their present display name.
    public var sender: MessageSender
    /// The server's time, the same for all recipients.
    public var sentAt: Timestamp
    /// At most as many as the service allows, in the order of the request; none once the sender has been erased.
    public var parts: [MessagePart]
    /// How far it came with this user; no user is shown the status of another one.
    public var status: RecipientStatus
    /// The `notification` object of the request, as JSON text.
    public var notification: String?
    /// Checks nothing: what goes in was read from the database.
    public init(
        id: AnnouncementID, position: Position, sender: MessageSender, sentAt: Timestamp, parts: [MessagePart], status: RecipientStatus,
        notification: String? = nil
    ) {
        self.id = id
        self.position = position
        self.sender = sender
        self.sentAt = sentAt
        self.parts = parts
        self.status = status
        self.notification = notification
    }
}
