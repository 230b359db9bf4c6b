// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A builder that collects the elements of one reply from hiredis and creates its value.
///
/// A flat list suffices, because hiredis reports elements depth first. All strings of a reply share one buffer. They
/// are copied because the reader's memory moves with its next read.
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
    /// The remaining number of elements for the reply. It limits the memory that a faulty server can make the client
    /// use.
    private var allowance: Int

    static let maximumElements = 1 << 20

    init() {
        allowance = Self.maximumElements
        elements.reserveCapacity(8)
    }

    /// Appends an element. Returns false if the reply has too many elements.
    mutating func append(_ element: Element) -> Bool {
        guard allowance > 0 else { return false }
        allowance -= 1
        elements.append(element)
        return true
    }

    /// Appends an array. Returns false if it exceeds the remaining number of elements.
    mutating func appendArray(count: Int) -> Bool {
        guard (0...allowance).contains(count) else { return false }
        return append(.array(count: count))
    }

    /// Copies a string. The first string in an array reserves more space, because most arrays contain a few short
    /// strings.
    mutating func copy(_ string: UnsafeRawBufferPointer) -> Range<Int> {
        if bytes.capacity == 0 { bytes.reserveCapacity(elements.isEmpty ? string.count : max(512, string.count)) }
        let start = bytes.writerIndex
        bytes.writeBytes(string)
        return start..<bytes.writerIndex
    }

    /// Returns the value of the complete reply and resets the builder.
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

    func slice(_ range: Range<Int>) -> ByteBuffer {
        bytes.getSlice(at: range.lowerBound, length: range.count) ?? ByteBuffer()
    }

    func text(_ range: Range<Int>) -> String { bytes.getString(at: range.lowerBound, length: range.count) ?? "" }

    func bytesEqual(in range: Range<Int>, text: StaticString) -> Bool {
        range.count == text.utf8CodeUnitCount
            && bytes.withUnsafeReadableBytes { all in
                all[range].elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
            }
    }
}
