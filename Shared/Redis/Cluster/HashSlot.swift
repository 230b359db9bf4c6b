// SPDX-License-Identifier: Apache-2.0

/// The assignment of keys to the 16384 slots of a cluster.
enum HashSlot {
    static let count = 16_384

    /// Returns the slot of a key: the CRC16 of its hash tag, which is the text between the first `{` and the next `}`.
    /// Without a tag, or with an empty one, it is the CRC16 of the whole key.
    static func of(_ key: String) -> UInt16 {
        var key = key
        return key.withUTF8 { of($0) }
    }

    static func of(_ key: UnsafeBufferPointer<UInt8>) -> UInt16 {
        var tag = key[...]
        if let open = key.firstIndex(of: UInt8(ascii: "{")), let close = key[open...].firstIndex(of: UInt8(ascii: "}")),
            close > open + 1
        {
            tag = key[(open + 1)..<close]
        }
        return tag.reduce(0) { crc, byte in crc << 8 ^ table[Int(crc >> 8 ^ UInt16(byte))] } % UInt16(count)
    }

    /// The table of CRC16-CCITT (XMODEM): polynomial 0x1021, initial value 0.
    private static let table: [UInt16] = (0..<256)
        .map { byte in
            (0..<8).reduce(UInt16(byte) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
}
