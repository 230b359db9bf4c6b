// SPDX-License-Identifier: Apache-2.0

/// An IPv4 packet with TCP (RFC 791, RFC 9293), and the reset packets that answer it.
struct Packet {
    struct Flow: Hashable {
        let source: UInt32
        let sourcePort: UInt16
        let target: UInt32
        let targetPort: UInt16

        var reversed: Flow { Flow(source: target, sourcePort: targetPort, target: source, targetPort: sourcePort) }
        /// A flow that is equal for both directions of a connection.
        var connection: Flow { source < target || (source == target && sourcePort <= targetPort) ? self : reversed }
    }

    let bytes: [UInt8]
    let source: UInt32
    let target: UInt32
    /// The offset of the TCP header; nil for other protocols.
    private let transport: Int?

    /// Parses a packet; nil if it is not IPv4.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 20, bytes[0] >> 4 == 4 else { return nil }
        let header = Int(bytes[0] & 0x0f) * 4
        self.bytes = bytes
        source = Self.word(bytes, 12)
        target = Self.word(bytes, 16)
        transport = bytes[9] == 6 && bytes.count >= header + 20 ? header : nil
    }

    var flow: Flow? {
        transport.map {
            Flow(source: source, sourcePort: Self.half(bytes, $0), target: target, targetPort: Self.half(bytes, $0 + 2))
        }
    }

    private func has(_ flag: UInt8) -> Bool { transport.map { bytes[$0 + 13] & flag != 0 } ?? false }

    var isSYN: Bool { has(0x02) && !has(0x10) }
    var isReset: Bool { has(0x04) }

    /// The acknowledgment number, which is the next expected byte; nil if the packet has none.
    var expected: UInt32? { transport.flatMap { has(0x10) && !isReset ? Self.word(bytes, $0 + 8) : nil } }

    /// Returns a packet that resets the connection at the source of `flow`.
    /// - Parameter expected: The next byte that this source expects. It would only challenge a reset with any other
    ///   number (RFC 5961).
    static func reset(of flow: Flow, expected: UInt32) -> [UInt8] {
        var packet = [UInt8](repeating: 0, count: 40)
        packet[0] = 0x45
        packet[3] = 40
        (packet[8], packet[9]) = (64, 6)
        put(flow.target, into: &packet, at: 12)
        put(flow.source, into: &packet, at: 16)
        put(checksum(packet[0..<20]), into: &packet, at: 10)
        put(flow.targetPort, into: &packet, at: 20)
        put(flow.sourcePort, into: &packet, at: 22)
        put(expected, into: &packet, at: 24)
        (packet[32], packet[33]) = (0x50, 0x04)
        put(checksum(packet[12..<40], plus: 6 + 20), into: &packet, at: 36)
        return packet
    }

    private static func half(_ bytes: [UInt8], _ at: Int) -> UInt16 { UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1]) }
    private static func word(_ bytes: [UInt8], _ at: Int) -> UInt32 {
        UInt32(half(bytes, at)) << 16 | UInt32(half(bytes, at + 2))
    }
    private static func put(_ value: UInt16, into bytes: inout [UInt8], at index: Int) {
        (bytes[index], bytes[index + 1]) = (UInt8(value >> 8), UInt8(value & 0xff))
    }

    private static func put(_ value: UInt32, into bytes: inout [UInt8], at index: Int) {
        put(UInt16(value >> 16), into: &bytes, at: index)
        put(UInt16(value & 0xffff), into: &bytes, at: index + 2)
    }

    /// Returns the Internet checksum (RFC 1071) of an even number of bytes.
    private static func checksum(_ bytes: ArraySlice<UInt8>, plus start: UInt32 = 0) -> UInt16 {
        var sum = start
        var index = bytes.startIndex
        while index + 1 < bytes.endIndex {
            sum += UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
            index += 2
        }
        while sum >> 16 != 0 { sum = sum & 0xffff + sum >> 16 }
        return ~UInt16(sum)
    }
}
