// SPDX-License-Identifier: Apache-2.0

/// An announcement as one of its recipients sees it: a message from the application to a list of users, without a
/// conversation (docs/conformance.md §9).
public struct Announcement: Hashable, Sendable {
    /// The id, chosen by the application's server or generated for it.
    public var id: AnnouncementID
    /// The position of the entry of the recipient's own log that delivered the announcement.
    public var position: Position
    /// The sender. A user has the current display name.
    public var sender: MessageSender
    /// The server's time, equal for all recipients.
    public var sentAt: Timestamp
    /// The parts in the order of the request, at most as many as the service allows. Empty once the sender has been
    /// erased.
    public var parts: [MessagePart]
    /// The status with this recipient. Users do not see each other's status.
    public var status: RecipientStatus
    /// The `notification` object of the request, as JSON text.
    public var notification: String?
    /// Creates an announcement without validation: the values were read from the database.
    public init(
        id: AnnouncementID, position: Position, sender: MessageSender, sentAt: Timestamp, parts: [MessagePart],
        status: RecipientStatus,
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
