// SPDX-License-Identifier: Apache-2.0

// JSON in the format of JavaScript's `JSON.stringify`. Some webhook receivers verify the signature over
// `JSON.stringify(JSON.parse(body))`, so that every body must equal that text. Strings need no code here, because
// `JSONWriter` escapes the same characters in the same way.

extension String {
    /// The number of a text that JavaScript considers an array index: "0" to "4294967294" without leading zeros; nil
    /// for other texts.
    var arrayIndex: UInt32? {
        guard let first = utf8.first, utf8.count <= 10,
            utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            first != UInt8(ascii: "0") || utf8.count == 1, let number = UInt32(self), number < .max
        else { return nil }
        return number
    }
}

extension Sequence {
    /// Returns the elements in the order in which JavaScript enumerates members: array indexes by number, then all
    /// others in the order of the sequence.
    /// - Parameter name: returns the name of an element. All names differ.
    func inJavaScriptOrder(by name: (Element) -> String) -> [Element] {
        var indexes: [(index: UInt32, element: Element)] = []
        var others: [Element] = []
        for element in self {
            if let index = name(element).arrayIndex { indexes.append((index, element)) } else { others.append(element) }
        }
        guard !indexes.isEmpty else { return others }
        return indexes.sorted { $0.index < $1.index }.map(\.element) + others
    }
}

/// The key order of an object whose keys are chosen by users or apps.
public enum KeyOrder: Sendable {
    /// The byte order of the keys' UTF-8.
    case bytes
    /// The order in which JavaScript enumerates members: array indexes by number, then all others in byte order.
    case javaScript

    func sorted<Value>(_ entries: [String: Value]) -> [(key: String, value: Value)] {
        let sorted = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return switch self {
        case .bytes: sorted
        case .javaScript: sorted.inJavaScriptOrder { $0.key }
        }
    }
}

extension JSONWriter {
    /// The maximum magnitude up to which JavaScript represents every integer exactly.
    private static let exactIntegers: UInt64 = 1 << 53

    /// Writes a value in the format of `JSON.stringify(JSON.parse(…))`.
    /// - Parameter value: a value whose objects have no duplicate names.
    public mutating func javaScript(_ value: JSONValue) {
        switch value {
        case .null, .bool, .string: self.value(value)
        case .integer(let number):
            if number.magnitude <= Self.exactIntegers { int(number) } else { javaScript(Double(number)) }
        case .number(let number): javaScript(number)
        case .array(let elements):
            beginArray()
            for element in elements { javaScript(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members.inJavaScriptOrder(by: \.name) {
                key(escaping: member.name)
                javaScript(member.value)
            }
            endObject()
        }
    }

    /// Writes a number in JavaScript's format (ECMA-262, Number::toString): the shortest digits that identify it, with
    /// an exponent below 1e-6 and from 1e21.
    mutating func javaScript(_ number: Double) {
        guard number.isFinite else { return null() }
        if let integer = Int64(exactly: number), integer.magnitude <= Self.exactIntegers { return int(integer) }
        let (digits, point) = Self.decimal(number.magnitude)
        let sign = number < 0 ? "-" : ""
        if point >= digits.count, point <= 21 {
            raw("\(sign)\(digits)\(String(repeating: "0", count: point - digits.count))")
        } else if point > 0, point <= 21 {
            raw("\(sign)\(digits.prefix(point)).\(digits.dropFirst(point))")
        } else if point > -6, point <= 0 {
            raw("\(sign)0.\(String(repeating: "0", count: -point))\(digits)")
        } else {
            let fraction = digits.count > 1 ? ".\(digits.dropFirst())" : ""
            raw("\(sign)\(digits.prefix(1))\(fraction)e\(point > 0 ? "+" : "-")\((point - 1).magnitude)")
        }
    }

    /// Returns the shortest decimal digits of a positive number, without leading and trailing zeros, and the offset of
    /// the decimal point from their beginning.
    private static func decimal(_ number: Double) -> (digits: String, point: Int) {
        let halves = number.description.split(separator: "e")
        let parts = halves[0].split(separator: ".", omittingEmptySubsequences: false)
        let all = parts.joined()
        let digits = all.drop { $0 == "0" }
        let end = digits.lastIndex { $0 != "0" }.map { digits.index(after: $0) } ?? digits.startIndex
        let exponent = halves.count > 1 ? Int(halves[1]) ?? 0 : 0
        return (String(digits[..<end]), parts[0].count + exponent - (all.count - digits.count))
    }
}
