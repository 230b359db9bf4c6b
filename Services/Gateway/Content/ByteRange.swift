// SPDX-License-Identifier: Apache-2.0

/// What a `Range` header asks for (RFC 9110 §14): one range of bytes. Several, or another unit, may be answered with everything, and are.
enum ByteRange: Hashable {
    case everything
    case part(Range<Int>)
    /// Nothing of what was asked for exists.
    case unsatisfiable

    /// - Parameter size: how many bytes there are.
    init(_ header: String?, size: Int) {
        guard let header, header.lowercased().hasPrefix("bytes=") else {
            self = .everything
            return
        }
        let text = header.dropFirst("bytes=".count).filter { $0 != " " && $0 != "\t" }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, !text.contains(","), let first = Self.number(ends[0]), let last = Self.number(ends[1]) else {
            self = .everything
            return
        }
        switch (first, last) {
        case (nil, nil): self = .everything
        case (nil, let count?): self = count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
        case (let first?, let last):
            guard first <= last ?? .max else {
                self = .everything
                return
            }
            self = first >= size ? .unsatisfiable : .part(first..<min(last ?? .max, size - 1) + 1)
        }
    }

    /// Nil: no number. A number that is too large stands for the largest.
    private static func number(_ text: Substring) -> Int?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else { return nil }
        return .some(Int(text) ?? .max)
    }
}
