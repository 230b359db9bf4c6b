// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

/// How the bytes of a part reach the server.
enum PartPlacement: Hashable, Sendable {
    /// The bytes are in the message, as text.
    case text(String)
    /// The bytes are in the message, encoded.
    case base64(Data)
    /// Uploaded as content before the message is sent.
    case content

    /// The most bytes that can be 2,048 UTF-16 units: a character of three bytes is one unit.
    private static let textBytes = Limits.inlinePartUnits * 3

    /// The placement of a part with this type and these bytes, without regard to the other parts of the message.
    init(mimeType: String, data: Data) {
        if let text = Self.text(mimeType: mimeType, data: data) {
            self = text.utf16.count <= Limits.inlinePartUnits ? .text(text) : .content
        } else {
            self = data.count <= Limits.inlinePartUnits ? .base64(data) : .content
        }
    }

    /// The placement of a part, without regard to the other parts of the message.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` if its file cannot be read any more.
    init(_ part: NewMessagePart) throws(StrataError) {
        guard part.size <= Self.textBytes else {
            self = .content
            return
        }
        switch part.source {
        case .data(let data): self.init(mimeType: part.mimeType, data: data)
        case .file(let url):
            guard let data = try? Data(contentsOf: url), data.count == part.size else {
                throw StrataError(.invalidArgument, "the file \(url.lastPathComponent) has changed, or cannot be read any more")
            }
            self.init(mimeType: part.mimeType, data: data)
        }
    }

    /// The placements of the parts of one message. Together they may have ``Limits/inlineMessageBytes`` in the message; beyond it the largest are uploaded.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` if a file cannot be read any more, ``StrataError/Code/dataLengthExceedsMaximum``.
    static func plan(for parts: [NewMessagePart]) throws(StrataError) -> [PartPlacement] {
        var placements: [PartPlacement] = []
        for part in parts {
            try part.checkSize()
            placements.append(try PartPlacement(part))
        }
        var total = placements.reduce(0) { $0 + $1.inlineSize }
        let largestFirst = placements.indices.sorted { (placements[$1].inlineSize, $0) < (placements[$0].inlineSize, $1) }
        for index in largestFirst where total > Limits.inlineMessageBytes {
            total -= placements[index].inlineSize
            placements[index] = .content
        }
        return placements
    }

    /// Bytes that count for the limit of a message.
    var inlineSize: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .base64(let data): data.count
        case .content: 0
        }
    }

    /// The members of a part on the wire that carry its bytes. Uploaded content has none.
    var members: [String: JSONValue] {
        switch self {
        case .text(let text): ["body": .string(text)]
        case .base64(let data): ["body": .string(data.base64EncodedString()), "encoding": "base64"]
        case .content: [:]
        }
    }

    /// The text of a part. Nil if the bytes are not UTF-8, or have a NUL, which the server does not store.
    private static func text(mimeType: String, data: Data) -> String? {
        guard MIMEType.isText(mimeType), !data.contains(0) else { return nil }
        return String(data: data, encoding: .utf8)
    }
}
