// SPDX-License-Identifier: Apache-2.0

/// Any JSON value. The order of members is kept; of members with the same name the last one counts.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One name of an object with its value.
    public struct Member: Sendable, Hashable {
        /// Without its quotes and escapes.
        public var name: String
        /// What the name stands for.
        public var value: JSONValue
        /// A member.
        public init(_ name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The member called `name`; nil if there is none or this is no object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }
    /// The element at `index`; nil if there is none or this is no array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
    /// The text of a string; nil for anything else.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of true or false; nil for anything else.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements of an array; nil for anything else.
    public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members of an object as they were written; nil for anything else.
    public var objectValue: [Member]? { if case .object(let value) = self { value } else { nil } }
    /// Whether this is null.
    public var isNull: Bool { self == .null }
    /// The value as an integer, also if it was written with a fraction of zero or an exponent; nil if it is none or does not fit.
    public var integerValue: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }
}

extension [JSONValue.Member] {
    /// The members without those that a later one of the same name replaces.
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
