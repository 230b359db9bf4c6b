// SPDX-License-Identifier: Apache-2.0

/// Validation of base64 text without decoding.
enum Base64 {
    /// Returns the number of decoded bytes. Returns nil unless `text` is base64 in the standard alphabet, padded,
    /// without white space.
    static func decodedCount(_ text: String) -> Int? {
        let utf8 = text.utf8
        let count = utf8.count
        guard count % 4 == 0 else { return nil }
        var padding = 0
        for byte in utf8 {
            if byte == UInt8(ascii: "=") {
                padding += 1
            } else if padding > 0 || !isDigit(byte) {
                return nil
            }
        }
        return padding <= 2 ? count / 4 * 3 - padding : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
