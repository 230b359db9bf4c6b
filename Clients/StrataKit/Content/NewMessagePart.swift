// SPDX-License-Identifier: Apache-2.0
public import Foundation

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
