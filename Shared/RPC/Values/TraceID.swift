// SPDX-License-Identifier: Apache-2.0

/// Sixteen random bytes that identify a request in the logs of all processes.
public struct TraceID: Sendable, Hashable, CustomStringConvertible {
    /// The first eight bytes, big endian.
    public let high: UInt64
    /// The last eight bytes, big endian.
    public let low: UInt64

    /// Creates a trace id.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses 32 hexadecimal digits in either case. Returns nil for anything else.
    public init?(hex: String) {
        let digits = hex.utf8
        guard digits.count == 32, digits.allSatisfy({ TraceID.isHexDigit($0) }) else { return nil }
        guard let high = UInt64(hex.prefix(16), radix: 16), let low = UInt64(hex.suffix(16), radix: 16) else {
            return nil
        }
        self.init(high: high, low: low)
    }

    /// Returns a new random trace id.
    public static func random() -> TraceID {
        var generator = SystemRandomNumberGenerator()
        return TraceID(high: generator.next(), low: generator.next())
    }

    /// The id as 32 lower-case hexadecimal digits.
    public var description: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(32)
        for word in [high, low] {
            for shift in stride(from: 60, through: 0, by: -4) {
                let nibble = UInt8(truncatingIfNeeded: word >> UInt64(shift)) & 0xF
                digits.append(nibble < 10 ? 0x30 + nibble : 0x57 + nibble)
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }
}
