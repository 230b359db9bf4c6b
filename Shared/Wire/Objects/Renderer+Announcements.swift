// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension Renderer {
    /// Writes an announcement for its recipient `reader`: a message without a conversation (docs/conformance.md §9).
    /// - Parameter withNotification: true to include the `notification`, which only a `create` packet does.
    public func writeAnnouncement(
        _ announcement: Announcement, for reader: UserID, version: WireVersion, withNotification: Bool = false,
        into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("id")
        writer.announcementID(announcement.id)
        writer.key("url")
        writer.string(prefix: announcementURL, uuid: announcement.id.rawValue)
        writer.key("receipts_url")
        writer.openString(announcementURL)
        writer.uuid(announcement.id.rawValue)
        writer.literal("/receipts")
        writer.closeString()
        writer.key("position")
        writer.int(announcement.position.wireValue)
        writer.key("conversation")
        writer.null()
        writer.key("parts")
        writer.beginArray()
        for (index, part) in announcement.parts.enumerated() {
            writePart(part, at: index, of: .announcement(announcement.id), version: version, into: &writer)
        }
        writer.endArray()
        writer.key("sent_at")
        writer.timestamp(announcement.sentAt)
        writer.key("updated_at")
        writer.null()
        writer.key("sender")
        writeSender(announcement.sender, into: &writer)
        writer.key("is_unread")
        writer.bool(announcement.status < .read)
        writer.key("recipient_status")
        writer.beginObject()
        writer.recipientStatus(of: reader, is: announcement.status)
        writer.endObject()
        writer.endObject()
        if withNotification, let notification = announcement.notification {
            writer.reopenObject(adding: "notification", raw: notification)
        }
    }

    /// Writes a sender. Clients accept a null id, but not a null object. A named sender has the name in two members.
    func writeSender(_ sender: MessageSender, into writer: inout JSONWriter) {
        switch sender {
        case .user(let identity): writeBasicIdentity(identity, into: &writer)
        case .name(let name):
            writer.beginObject()
            writer.key("id")
            writer.null()
            writer.key("url")
            writer.null()
            writer.key("user_id")
            writer.null()
            writer.key("display_name")
            writer.string(name)
            writer.key("avatar_url")
            writer.null()
            writer.key("name")
            writer.string(name)
            writer.endObject()
        }
    }
}
