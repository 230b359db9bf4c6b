// SPDX-License-Identifier: Apache-2.0

/// A small set of hub indices, at most 64: one bit each.
struct HubSet: ExpressibleByArrayLiteral {
    private var bits: UInt64 = 0

    /// As many hubs as a gateway can have; more event loops than this are not used for sockets.
    static let capacity = 64

    init(arrayLiteral elements: Int...) { for element in elements { insert(element) } }
    var isEmpty: Bool { bits == 0 }
    mutating func insert(_ index: Int) { bits |= 1 << UInt64(index) }
    mutating func remove(_ index: Int) { bits &= ~(1 << UInt64(index)) }
    func contains(_ index: Int) -> Bool { bits & (1 << UInt64(index)) != 0 }
    func forEach(_ body: (Int) -> Void) {
        var rest = bits
        while rest != 0 {
            body(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
    }
}
