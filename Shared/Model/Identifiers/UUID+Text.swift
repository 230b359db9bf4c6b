// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

extension UUID {
    /// Parses the 36 characters of a UUID in either case. Returns nil for anything else.
    public init?(text: some Collection<UInt8>) {
        let found =
            text.withContiguousStorageIfAvailable { UUID(bytes: $0) }
            ?? Array(text).withUnsafeBufferPointer { UUID(bytes: $0) }
        guard let found else { return nil }
        self = found
    }

    /// Parses contiguous bytes. This is much faster than a generic collection.
    init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == 36 else { return nil }
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        let isValid = withUnsafeMutableBytes(of: &value) { target in
            var digits = 0
            for (place, byte) in bytes.enumerated() {
                if place == 8 || place == 13 || place == 18 || place == 23 {
                    guard byte == UInt8(ascii: "-") else { return false }
                } else {
                    guard let digit = UUID.hexValue(byte) else { return false }
                    target[digits >> 1] = target[digits >> 1] << 4 | digit
                    digits += 1
                }
            }
            return true
        }
        guard isValid else { return nil }
        self.init(uuid: value)
    }

    /// The 36 characters of the UUID in lower case.
    public var lowercaseText: String {
        String(unsafeUninitializedCapacity: 36) { target in
            var place = 0
            withUnsafeBytes(of: uuid) { bytes in
                for index in 0..<16 {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        target[place] = UInt8(ascii: "-")
                        place += 1
                    }
                    target[place] = UUID.hexDigit(bytes[index] >> 4)
                    target[place + 1] = UUID.hexDigit(bytes[index] & 15)
                    place += 2
                }
            }
            return place
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
