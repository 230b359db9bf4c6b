// SPDX-License-Identifier: Apache-2.0

/// SHA-1 (FIPS 180-4), which Redis identifies scripts by.
///
/// Nothing here depends on its strength: a wrong digest only means that the server asks for the source. Written out because no package this
/// target depends on offers it, and a cryptographic library would be linked for nothing else.
enum SHA1 {
    static func hexadecimalDigest(of bytes: some Sequence<UInt8>) -> String {
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        let message = padded(Array(bytes))
        for start in stride(from: 0, to: message.count, by: 64) {
            compress(message[start..<start + 64], into: &state)
        }
        let digits = Array("0123456789abcdef".utf8)
        let digest = state.flatMap { word in (0..<8).map { digits[Int(word >> (28 - 4 * $0) & 15)] } }
        return String(decoding: digest, as: UTF8.self)
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        var message = bytes
        message.append(0x80)
        message.append(contentsOf: repeatElement(0, count: (120 - message.count % 64) % 64))
        let bits = UInt64(bytes.count) * 8
        for shift in stride(from: UInt64(56), through: 0, by: -8) { message.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        return message
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = [UInt32](repeating: 0, count: 80)
        for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
        for index in 16..<80 {
            words[index] = rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (index, word) in words.enumerated() {
            let (mix, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5a82_7999)
                case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
                case ..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
                default: (b ^ c ^ d, 0xca62_c1d6)
                }
            let next = rotated(a, by: 5) &+ mix &+ e &+ constant &+ word
            (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
        }
        for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }

    private static func rotated(_ value: UInt32, by count: UInt32) -> UInt32 { value << count | value >> (32 - count) }
}
