// SPDX-License-Identifier: Apache-2.0

/// A set of event-loop indices, stored as one bit each. It allocates no memory for indices below 64, which covers
/// almost every machine.
struct LoopSet: ExpressibleByArrayLiteral {
    private var first: UInt64 = 0
    /// The bits of indices from 64 on. It grows only as far as needed.
    private var rest: [UInt64] = []

    init(arrayLiteral elements: Int...) { for element in elements { insert(element) } }
    var isEmpty: Bool { first == 0 && rest.allSatisfy { $0 == 0 } }

    mutating func insert(_ index: Int) {
        guard index >= 64 else { return first |= Self.bit(index) }
        let word = index / 64 - 1
        if word >= rest.count { rest += Array(repeating: 0, count: word + 1 - rest.count) }
        rest[word] |= Self.bit(index)
    }

    mutating func remove(_ index: Int) {
        guard index >= 64 else { return first &= ~Self.bit(index) }
        let word = index / 64 - 1
        if word < rest.count { rest[word] &= ~Self.bit(index) }
    }

    func contains(_ index: Int) -> Bool {
        guard index >= 64 else { return first & Self.bit(index) != 0 }
        let word = index / 64 - 1
        return word < rest.count && rest[word] & Self.bit(index) != 0
    }

    func forEach(_ body: (Int) -> Void) {
        Self.forEach(first, from: 0, body)
        for (word, bits) in rest.enumerated() { Self.forEach(bits, from: 64 * (word + 1), body) }
    }

    private static func bit(_ index: Int) -> UInt64 { 1 << UInt64(index % 64) }

    private static func forEach(_ bits: UInt64, from base: Int, _ body: (Int) -> Void) {
        var bits = bits
        while bits != 0 {
            body(base + bits.trailingZeroBitCount)
            bits &= bits - 1
        }
    }
}
