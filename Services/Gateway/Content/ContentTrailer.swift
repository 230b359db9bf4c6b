// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// What stands behind the bytes of content in its file: of what type they are, and how many, so that a file that lost its end is not served.
///
/// The type in UTF-8, the number of content bytes in 8 bytes, the length of the type in 2, and 8 bytes that are always the same.
struct ContentTrailer: Hashable {
    let type: String
    let size: Int

    private static let mark = Array("strata01".utf8)
    /// Of what stands behind the type.
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

    /// Nil if the file does not end as it must.
    init?(endOf file: OpenFile) throws(ContentStoreError) {
        guard let length = file.size, length >= Self.fixedBytes else { return nil }
        var end = try file.read(at: max(0, length - Self.fixedBytes - Self.typeBytes), count: Self.fixedBytes + Self.typeBytes)
        let typeRoom = end.readableBytes - Self.fixedBytes
        guard var fixed = end.getSlice(at: typeRoom, length: Self.fixedBytes), let size = fixed.readInteger(as: UInt64.self),
            let typeLength = fixed.readInteger(as: UInt16.self).map({ Int($0) }), fixed.readBytes(length: 8) == Self.mark, typeLength <= typeRoom,
            length - Self.fixedBytes - typeLength == Int(clamping: size)
        else { return nil }
        end.moveReaderIndex(forwardBy: typeRoom - typeLength)
        guard let type = end.readString(length: typeLength) else { return nil }
        self.init(type: type, size: Int(clamping: size))
    }
}
