// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel

/// The owner of a message part, which determines the part's id.
enum PartOwner {
    case message(MessageID)
    case announcement(AnnouncementID)
}

extension Renderer {
    /// Writes a part of a message (docs/conformance.md §6.2).
    public func writePart(
        _ part: MessagePart, at index: Int, of message: MessageID, version: WireVersion, into writer: inout JSONWriter
    ) {
        writePart(part, at: index, of: .message(message), version: version, into: &writer)
    }

    /// Writes a part. Version 2.0 identifies parts by index, version 3.0 by id (docs/conformance.md §15).
    func writePart(
        _ part: MessagePart, at index: Int, of owner: PartOwner, version: WireVersion, into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("id")
        writer.separate()
        switch owner {
        case .message: writer.literal("\"layer:///messages/")
        case .announcement: writer.literal("\"layer:///announcements/")
        }
        writePath(of: part, at: index, in: owner, version: version, into: &writer)
        if version == .v3 {
            writer.key("url")
            writer.openString(url(of: owner))
            writePath(of: part, at: index, in: owner, version: version, into: &writer)
            writer.key("message_url")
            writer.string(prefix: url(of: owner), uuid: owner.uuid)
        }
        writer.key("mime_type")
        writer.string(part.mimeType)
        if let body = part.body {
            writer.key("body")
            writer.string(body)
        }
        if let encoding = part.encoding {
            writer.key("encoding")
            writer.string(encoding)
        }
        if let content = part.contentID {
            writer.key("content")
            writeContent(content, size: part.size, at: locateContent(content), into: &writer)
        }
        writer.key("size")
        writer.int(part.size)
        if let time = part.updatedAt {
            writer.key("updated_at")
            writer.timestamp(time)
        }
        writer.endObject()
    }

    /// Writes a Content object (docs/conformance.md §8).
    /// - Parameter uploadURL: set only in the response to the request that creates the content.
    public func writeContent(
        _ id: ContentID, size: Int, at location: ContentLocation, uploadURL: String? = nil,
        into writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.key("id")
        writer.contentID(id)
        writer.key("size")
        writer.int(size)
        if let uploadURL {
            writer.key("upload_url")
            writer.string(uploadURL)
        }
        writer.key("download_url")
        writer.string(location.downloadURL)
        writer.key("expiration")
        writer.timestamp(location.expiration)
        writer.key("refresh_url")
        writer.string(prefix: contentURL, uuid: id.rawValue)
        writer.endObject()
    }

    private func url(of owner: PartOwner) -> [UInt8] {
        switch owner {
        case .message: messageURL
        case .announcement: announcementURL
        }
    }

    private func writePath(
        of part: MessagePart, at index: Int, in owner: PartOwner, version: WireVersion, into writer: inout JSONWriter
    ) {
        writer.uuid(owner.uuid)
        writer.literal("/parts/")
        switch version {
        case .v2: writer.digits(Int64(index))
        case .v3: writer.uuid(part.id)
        }
        writer.closeString()
    }
}

extension PartOwner {
    var uuid: UUID {
        switch self {
        case .message(let id): id.rawValue
        case .announcement(let id): id.rawValue
        }
    }
}
