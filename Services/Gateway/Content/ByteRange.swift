// SPDX-License-Identifier: Apache-2.0

/// The range of bytes that a `Range` header requests (RFC 9110 §14). Several ranges or another unit are answered with
/// everything, which the RFC allows.
enum ByteRange: Hashable {
    case everything
    case part(Range<Int>)
    /// The requested range contains no existing byte.
    case unsatisfiable

    /// - Parameter size: the size of the content, in bytes.
    init(_ header: String?, size: Int) {
        guard let header, header.lowercased().hasPrefix("bytes=") else {
            self = .everything
            return
        }
        let text = header.dropFirst("bytes=".count).filter { $0 != " " && $0 != "\t" }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, !text.contains(","), let first = Self.number(ends[0]), let last = Self.number(ends[1])
        else {
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

    /// Returns a number, `.some(nil)` for an empty text, or nil for any other text. A number that is too large becomes
    /// the largest.
    private static func number(_ text: Substring) -> Int?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else { return nil }
        return .some(Int(text) ?? .max)
    }
}
