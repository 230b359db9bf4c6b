// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

/// The way in which the bytes of a part reach the server.
enum PartPlacement: Hashable, Sendable {
    /// Inline, as text.
    case text(String)
    /// Inline, as base64.
    case base64(Data)
    /// Separate content, uploaded before the message is sent.
    case content

    /// The maximum size in bytes of text with 2,048 UTF-16 units: a three-byte character is one unit.
    private static let textBytes = Limits.inlinePartUnits * 3

    /// Determines the placement of a part on its own, ignoring the other parts of the message.
    init(mimeType: String, data: Data) {
        if let text = Self.text(mimeType: mimeType, data: data) {
            self = text.utf16.count <= Limits.inlinePartUnits ? .text(text) : .content
        } else {
            self = data.count <= Limits.inlinePartUnits ? .base64(data) : .content
        }
    }

    /// Determines the placement of a part on its own, ignoring the other parts of the message.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` if the part's file has changed or is
    ///   unreadable.
    init(_ part: NewMessagePart) throws(StrataError) {
        guard part.size <= Self.textBytes else {
            self = .content
            return
        }
        switch part.source {
        case .data(let data): self.init(mimeType: part.mimeType, data: data)
        case .file(let url):
            guard let data = try? Data(contentsOf: url), data.count == part.size else {
                throw StrataError(
                    .invalidArgument, "the file \(url.lastPathComponent) has changed, or can no longer be read")
            }
            self.init(mimeType: part.mimeType, data: data)
        }
    }

    /// Returns the placements of the parts of one message. If the inline parts together exceed
    /// ``Limits/inlineMessageBytes``, the largest are uploaded instead.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` if a file has changed or is unreadable,
    ///   ``StrataError/Code/dataLengthExceedsMaximum``.
    static func plan(for parts: [NewMessagePart]) throws(StrataError) -> [PartPlacement] {
        var placements: [PartPlacement] = []
        for part in parts {
            try part.checkSize()
            placements.append(try PartPlacement(part))
        }
        var total = placements.reduce(0) { $0 + $1.inlineSize }
        let largestFirst = placements.indices.sorted {
            (placements[$1].inlineSize, $0) < (placements[$0].inlineSize, $1)
        }
        for index in largestFirst where total > Limits.inlineMessageBytes {
            total -= placements[index].inlineSize
            placements[index] = .content
        }
        return placements
    }

    /// The number of bytes that count towards the inline limit of a message.
    var inlineSize: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .base64(let data): data.count
        case .content: 0
        }
    }

    /// The JSON members that carry the part's bytes. Empty for uploaded content.
    var members: [String: JSONValue] {
        switch self {
        case .text(let text): ["body": .string(text)]
        case .base64(let data): ["body": .string(data.base64EncodedString()), "encoding": "base64"]
        case .content: [:]
        }
    }

    /// Returns the text of a part. nil if the bytes are not UTF-8 or contain a NUL, which the server cannot store.
    private static func text(mimeType: String, data: Data) -> String? {
        guard MIMEType.isText(mimeType), !data.contains(0) else { return nil }
        return String(data: data, encoding: .utf8)
    }
}
