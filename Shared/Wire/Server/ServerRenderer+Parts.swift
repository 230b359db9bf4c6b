// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel

extension ServerRenderer {
    /// Writes a part of a message with all members.
    public func writePart(at index: Int, of message: Message, into writer: inout JSONWriter) {
        writePart(at: index, of: message, form: .read, into: &writer)
    }

    /// Writes a part. Version 1.x identifies parts by index, later versions by id. The response to a 1.x creation
    /// contains parts without ids.
    func writePart(at index: Int, of message: Message, form: Form, into writer: inout JSONWriter) {
        guard message.parts.indices.contains(index) else { return writer.null() }
        let part = message.parts[index]
        let messageURL = url(of: message.id, in: message.conversationID)
        let name = namesUsersByID ? "\(index)" : part.id.lowercaseText
        let isBare = form == .created && namesUsersByID
        writer.beginObject()
        if !isBare {
            writer.key("id")
            writer.string("\(message.id.layerID)/parts/\(name)")
        }
        if form != .created, !namesUsersByID {
            writer.key("url")
            writer.string("\(messageURL)/parts/\(name)")
        }
        if form == .read, version == .v3 {
            writer.key("message_url")
            writer.string(messageURL)
        }
        writer.key("mime_type")
        writer.string(part.mimeType)
        writeBody(of: part, leavingOutNulls: isBare, into: &writer)
        if let content = part.contentID {
            writer.key("content")
            writeContent(
                content, size: part.size, in: message.conversationID, at: renderer.locateContent(content), into: &writer
            )
        } else if !isBare {
            writer.key("content")
            writer.null()
        }
        if form == .read, version == .v3 {
            writer.key("updated_at")
            writer.timestamp(part.updatedAt)
        }
        writer.endObject()
    }

    /// Writes `body` and `encoding`. Base64 of UTF-8 text is written as plain text without an encoding.
    func writeBody(of part: MessagePart, leavingOutNulls: Bool, into writer: inout JSONWriter) {
        let text = part.encoding == "base64" ? part.body.flatMap { Self.text(base64: $0) } : nil
        if let body = text ?? part.body {
            writer.key("body")
            writer.string(body)
        } else if !leavingOutNulls {
            writer.key("body")
            writer.null()
        }
        if text == nil, let encoding = part.encoding {
            writer.key("encoding")
            writer.string(encoding)
        } else if !leavingOutNulls {
            writer.key("encoding")
            writer.null()
        }
    }

    /// Returns the decoded text of base64, or nil if it is not UTF-8.
    private static func text(base64: String) -> String? {
        Data(base64Encoded: base64).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Writes content of a conversation.
    /// - Parameter uploadURL: set only in the response to the request that creates the content.
    public func writeContent(
        _ id: ContentID, size: Int, in conversation: ConversationID, at location: ContentLocation,
        uploadURL: String? = nil,
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
        writer.key("refresh_url")
        writer.string(uploadURL == nil ? url(of: id, in: conversation) : nil)
        writer.key("expiration")
        writer.timestamp(location.expiration)
        writer.endObject()
    }
}
