// SPDX-License-Identifier: Apache-2.0

struct SlotMap: Sendable, Equatable {
    private static let unassigned = UInt16.max
    private var owners = [UInt16](repeating: unassigned, count: HashSlot.count)
    private(set) var masters: [RedisEndpoint] = []

    init() {}

    /// Parses the reply of CLUSTER SLOTS. Returns nil for any other reply. The host of `asked` replaces an unknown
    /// address.
    init?(_ reply: RedisValue, asked: RedisEndpoint) {
        guard let ranges = reply.array else { return nil }
        for range in ranges {
            guard let fields = range.array, fields.count >= 3,
                let first = fields[0].int, let last = fields[1].int, 0 <= first, first <= last, last < HashSlot.count,
                let node = fields[2].array, node.count >= 2, let port = node[1].int, (1...65535).contains(port)
            else { return nil }
            let host = node[0].string ?? ""
            let endpoint = RedisEndpoint(host: host.isEmpty || host == "?" ? asked.host : host, port: Int(port))
            let index = self.index(of: endpoint)
            for slot in first...last { owners[Int(slot)] = index }
        }
    }

    /// Returns the master of a slot, or nil if no server serves it.
    func master(of slot: UInt16) -> RedisEndpoint? {
        let index = owners[Int(slot)]
        return index == Self.unassigned ? nil : masters[Int(index)]
    }

    /// Assigns a slot according to a MOVED reply.
    mutating func assign(_ slot: UInt16, to endpoint: RedisEndpoint) {
        guard slot < HashSlot.count else { return }
        owners[Int(slot)] = index(of: endpoint)
    }

    private mutating func index(of endpoint: RedisEndpoint) -> UInt16 {
        if let index = masters.firstIndex(of: endpoint) { return UInt16(index) }
        guard masters.count < Int(Self.unassigned) else { return Self.unassigned }
        masters.append(endpoint)
        return UInt16(masters.count - 1)
    }
}

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

/// An error reply that requests another action. The caller handles all other errors.
enum Redirect: Equatable {
    /// The slot has permanently moved to another server.
    case moved(slot: UInt16, RedisEndpoint)
    /// The key has already moved, while the migration of its slot continues. Send the command once to that server,
    /// preceded by ASKING.
    case ask(RedisEndpoint)
    /// The keys of the command are on both servers of a migrating slot. Retry shortly afterwards.
    case tryAgain
    /// The server does not know the script. Send its source.
    case scriptUnknown

    /// Parses an error reply. An empty host in it means the server that sent the reply, so it is replaced by that of
    /// `asked`.
    init?(_ error: RedisServerError, asked: RedisEndpoint) {
        switch error.kind {
        case "NOSCRIPT": self = .scriptUnknown
        case "TRYAGAIN": self = .tryAgain
        case "MOVED", "ASK":
            let words = error.text.split(separator: " ")
            guard words.count >= 3, let slot = UInt16(words[1]), slot < HashSlot.count,
                let colon = words[2].lastIndex(of: ":"),
                let port = Int(words[2][words[2].index(after: colon)...]), (1...65535).contains(port)
            else { return nil }
            var host = words[2][..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
            let endpoint = RedisEndpoint(host: host.isEmpty || host == "?" ? asked.host : String(host), port: port)
            self = words[0] == "MOVED" ? .moved(slot: slot, endpoint) : .ask(endpoint)
        default: return nil
        }
    }
}
