// SPDX-License-Identifier: Apache-2.0
public import Foundation
import ProtocolClient
public import StrataModel

/// A message that has not been sent. It belongs to no conversation, and can be sent once.
public struct NewMessage: Sendable, Hashable, Identifiable {
    /// The id of the future message.
    public let id: MessageID
    let parts: [NewMessagePart]
    let notification: Notification?

    /// The options of a message.
    public struct Options: Sendable, Hashable {
        /// The notification for recipients who are not online; nil: none.
        public var notification: Notification?
        /// Creates options with this notification.
        public init(notification: Notification? = nil) { self.notification = notification }
    }

    /// The push notification of a message.
    public struct Notification: Sendable, Hashable {
        /// The title line; nil for none.
        public var title: String?
        /// The body text.
        public var text: String
        /// The name of a sound; nil for none.
        public var sound: String?
        /// Creates a notification with this text.
        public init(_ text: String, title: String? = nil, sound: String? = nil) {
            self.text = text
            self.title = title
            self.sound = sound
        }

        var json: JSONValue {
            var json: JSONValue = ["text": .string(text)]
            if let title { json["title"] = .string(title) }
            if let sound { json["sound"] = .string(sound) }
            return json
        }
    }
}

/// One part of a message to be sent.
///
/// A part of up to 2,048 characters of text, or 2,048 bytes of other data, is sent inside the message. Larger parts are
/// uploaded first; the message is sent after all uploads are complete.
public struct NewMessagePart: Hashable, Sendable {
    enum Source: Hashable, Sendable {
        case data(Data)
        case file(URL)
    }

    /// The maximum size of a part: 2 GiB, in bytes. If the operator has set a lower limit, the upload fails.
    public static let maximumSize = 2 << 30

    /// The MIME type, for example `image/jpeg`.
    public let mimeType: String
    /// The size in bytes; 0 is valid.
    public let size: Int
    let source: Source

    /// Creates a part from bytes.
    /// - Parameter mimeType: two words separated by one slash, printable ASCII without white space, at most 255
    ///   characters.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` for an invalid `mimeType`,
    ///   ``StrataError/Code/dataLengthExceedsMaximum`` for more than ``maximumSize`` bytes.
    public init(mimeType: String, data: Data) throws(StrataError) {
        try self.init(checking: mimeType, size: data.count, .data(data))
    }

    /// Creates a part from a file. The bytes are copied when the message is sent.
    /// - Parameter mimeType: as in ``init(mimeType:data:)``.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` for an invalid `mimeType` or an unreadable
    ///   file; ``StrataError/Code/dataLengthExceedsMaximum`` for more than ``maximumSize`` bytes.
    public init(mimeType: String, fileURL: URL) throws(StrataError) {
        try self.init(checking: mimeType, size: try Self.size(of: fileURL), .file(fileURL))
    }

    /// Creates a part of type `text/plain`.
    public static func text(_ text: String) -> NewMessagePart { NewMessagePart("text/plain", Data(text.utf8)) }

    private init(_ mimeType: String, _ data: Data) {
        self.mimeType = mimeType
        size = data.count
        source = .data(data)
    }

    private init(checking mimeType: String, size: Int, _ source: Source) throws(StrataError) {
        guard MIMEType.isValid(mimeType) else {
            throw StrataError(
                .invalidArgument, "mimeType must be two words of ASCII with one slash between them, without white space"
            )
        }
        self.mimeType = mimeType
        self.size = size
        self.source = source
        try checkSize()
    }

    /// Checks the part's size. ``text(_:)`` does not throw, so its parts are checked when the message is sent.
    func checkSize() throws(StrataError) {
        guard size <= Self.maximumSize else {
            throw StrataError(.dataLengthExceedsMaximum, "a part has \(size) bytes; the maximum is \(Self.maximumSize)")
        }
    }

    /// Returns the size of a file in bytes.
    /// - Throws: `invalidArgument` unless the URL names a regular file that can be read.
    private static func size(of file: URL) throws(StrataError) -> Int {
        guard file.isFileURL else { throw StrataError(.invalidArgument, "fileURL must be the URL of a file") }
        let path = file.resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? NSNumber,
            FileManager.default.isReadableFile(atPath: path)
        else { throw StrataError(.invalidArgument, "fileURL must be a file that can be read") }
        return size.intValue
    }
}

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
