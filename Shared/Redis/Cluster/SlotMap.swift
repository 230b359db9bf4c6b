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
