// SPDX-License-Identifier: Apache-2.0

/// A JSON value. The order of members is preserved. Of members with the same name, the last one applies.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits into `Int64`.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object.
    public struct Member: Sendable, Hashable {
        /// The name, unescaped and without quotes.
        public var name: String
        /// The value of the member.
        public var value: JSONValue
        /// Creates a member.
        public init(_ name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The member with this name, or nil if it does not exist or the value is not an object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }
    /// The element at `index`, or nil if it does not exist or the value is not an array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
    /// The text of a string; nil for other values.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of true or false; nil for other values.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements of an array; nil for other values.
    public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members of an object in their original order; nil for other values.
    public var objectValue: [Member]? { if case .object(let value) = self { value } else { nil } }
    /// True if the value is null.
    public var isNull: Bool { self == .null }
    /// The value as an integer, even if written with a zero fraction or an exponent; nil if it is not an integer or
    /// does not fit.
    public var integerValue: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }
}

extension [JSONValue.Member] {
    /// The members without duplicates. A later member of the same name replaces an earlier one.
    var unique: [JSONValue.Member] {
        var places: [String: Int] = [:]
        var out: [JSONValue.Member] = []
        out.reserveCapacity(count)
        for member in self {
            if let place = places.updateValue(out.count, forKey: member.name) {
                places[member.name] = place
                out[place] = member
            } else {
                out.append(member)
            }
        }
        return out
    }
}
