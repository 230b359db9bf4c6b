// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// One part of a message that is about to be sent.
///
/// A part of up to 2,048 characters of text, or 2,048 bytes of anything else, is sent with the message. The bytes of a larger one are uploaded first; the
/// message goes out when all of them are on the server.
public struct NewMessagePart: Hashable, Sendable {
    /// Where the bytes of the part are.
    enum Source: Hashable, Sendable {
        case data(Data)
        case file(URL)
    }

    /// Bytes of the largest part: 2 GiB. An operator may allow less, in which case the upload fails.
    public static let maximumSize = 2 << 30

    /// For example `image/jpeg`.
    public let mimeType: String
    /// Bytes; 0 is legal.
    public let size: Int
    let source: Source

    /// A part of these bytes.
    /// - Parameter mimeType: two words with one slash between them, without white space, at most 255 characters of ASCII.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` for another `mimeType`, ``StrataError/Code/dataLengthExceedsMaximum`` for more than
    ///   ``maximumSize`` bytes.
    public init(mimeType: String, data: Data) throws(StrataError) {
        try self.init(checking: mimeType, size: data.count, .data(data))
    }

    /// A part with the bytes of a file, which are copied when the message is sent.
    /// - Parameter mimeType: as in ``init(mimeType:data:)``.
    /// - Throws: ``StrataError`` with ``StrataError/Code/invalidArgument`` for another `mimeType`, or if there is no such file that can be read;
    ///   ``StrataError/Code/dataLengthExceedsMaximum`` for more than ``maximumSize`` bytes.
    public init(mimeType: String, fileURL: URL) throws(StrataError) {
        try self.init(checking: mimeType, size: try Self.size(of: fileURL), .file(fileURL))
    }

    /// A part of type `text/plain`.
    public static func text(_ text: String) -> NewMessagePart { NewMessagePart("text/plain", Data(text.utf8)) }

    private init(_ mimeType: String, _ data: Data) {
        self.mimeType = mimeType
        size = data.count
        source = .data(data)
    }

    private init(checking mimeType: String, size: Int, _ source: Source) throws(StrataError) {
        guard MIMEType.isValid(mimeType) else {
            throw StrataError(.invalidArgument, "mimeType must be two words of ASCII with one slash between them, without white space")
        }
        self.mimeType = mimeType
        self.size = size
        self.source = source
        try checkSize()
    }

    /// Checks the size of a part, which ``text(_:)`` cannot refuse.
    func checkSize() throws(StrataError) {
        guard size <= Self.maximumSize else {
            throw StrataError(.dataLengthExceedsMaximum, "a part has \(size) bytes; \(Self.maximumSize) are the most")
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
