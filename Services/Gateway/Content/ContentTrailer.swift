// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// The trailer of a content file, which follows the content's bytes and names their type and number. A truncated file
/// has no valid trailer and is not served.
///
/// Layout: the type in UTF-8, the number of content bytes (8 bytes), the length of the type (2 bytes), and a constant
/// mark (8 bytes).
struct ContentTrailer: Hashable {
    let type: String
    let size: Int

    private static let mark = Array("strata01".utf8)
    /// The number of bytes after the type.
    private static let fixedBytes = 18
    static let typeBytes = 255

    init(type: String, size: Int) {
        self.type = type
        self.size = size
    }

    var bytes: ByteBuffer {
        var buffer = ByteBuffer(string: type)
        let length = UInt16(clamping: buffer.readableBytes)
        buffer.writeInteger(UInt64(clamping: size))
        buffer.writeInteger(length)
        buffer.writeBytes(Self.mark)
        return buffer
    }

    /// Reads the trailer of a file. Nil if it is missing or invalid.
    init?(endOf file: OpenFile) throws(ContentStoreError) {
        guard let length = file.size, length >= Self.fixedBytes else { return nil }
        var end = try file.read(
            at: max(0, length - Self.fixedBytes - Self.typeBytes), count: Self.fixedBytes + Self.typeBytes)
        let typeRoom = end.readableBytes - Self.fixedBytes
        guard var fixed = end.getSlice(at: typeRoom, length: Self.fixedBytes),
            let size = fixed.readInteger(as: UInt64.self),
            let typeLength = fixed.readInteger(as: UInt16.self).map({ Int($0) }),
            fixed.readBytes(length: 8) == Self.mark, typeLength <= typeRoom,
            length - Self.fixedBytes - typeLength == Int(clamping: size)
        else { return nil }
        end.moveReaderIndex(forwardBy: typeRoom - typeLength)
        guard let type = end.readString(length: typeLength) else { return nil }
        self.init(type: type, size: Int(clamping: size))
    }
}
