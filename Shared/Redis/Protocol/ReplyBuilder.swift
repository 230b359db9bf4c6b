// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Collects what hiredis finds in one reply, then makes a value of it.
///
/// hiredis reports elements depth first, so a flat list is enough; all strings of one reply share one buffer. Strings are copied here because
/// the reader's memory moves with its next read.
struct ReplyBuilder {
    enum Element {
        case null
        case integer(Int64)
        case simple(Range<Int>)
        case bulk(Range<Int>)
        case error(Range<Int>)
        case array(count: Int)
    }

    private(set) var elements: [Element] = []
    private(set) var bytes = ByteBuffer()
    /// Elements a reply may still have; the bound on what a broken server can make us store.
    private var allowance: Int

    static let maximumElements = 1 << 20

    init() {
        allowance = Self.maximumElements
        elements.reserveCapacity(8)
    }

    /// Returns false if the reply has too many elements.
    mutating func append(_ element: Element) -> Bool {
        guard allowance > 0 else { return false }
        allowance -= 1
        elements.append(element)
        return true
    }

    /// Returns false if the array cannot fit into what a reply may hold.
    mutating func appendArray(count: Int) -> Bool {
        guard (0...allowance).contains(count) else { return false }
        return append(.array(count: count))
    }

    /// Copies a string. Elements of arrays get room for what follows, since most arrays hold a few short strings.
    mutating func copy(_ string: UnsafeRawBufferPointer) -> Range<Int> {
        if bytes.capacity == 0 { bytes.reserveCapacity(elements.isEmpty ? string.count : max(512, string.count)) }
        let start = bytes.writerIndex
        bytes.writeBytes(string)
        return start..<bytes.writerIndex
    }

    /// Makes the value of the complete reply, and starts over.
    mutating func takeValue() -> RedisValue {
        defer { reset() }
        var index = 0
        return value(at: &index)
    }

    mutating func reset() {
        elements.removeAll(keepingCapacity: elements.count <= 1024)
        bytes = ByteBuffer()
        allowance = Self.maximumElements
    }

    private func value(at index: inout Int) -> RedisValue {
        guard index < elements.count else { return .null }
        let element = elements[index]
        index += 1
        switch element {
        case .null: return .null
        case .integer(let value): return .integer(value)
        case .simple(let range): return .simple(text(range))
        case .bulk(let range): return .bulk(slice(range))
        case .error(let range): return .error(RedisServerError(text: text(range)))
        case .array(let count):
            var values: [RedisValue] = []
            values.reserveCapacity(min(count, elements.count))
            for _ in 0..<count { values.append(value(at: &index)) }
            return .array(values)
        }
    }

    func slice(_ range: Range<Int>) -> ByteBuffer { bytes.getSlice(at: range.lowerBound, length: range.count) ?? ByteBuffer() }

    func text(_ range: Range<Int>) -> String { bytes.getString(at: range.lowerBound, length: range.count) ?? "" }

    func bytesEqual(in range: Range<Int>, text: StaticString) -> Bool {
        range.count == text.utf8CodeUnitCount
            && bytes.withUnsafeReadableBytes { all in
                all[range].elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
            }
    }
}
