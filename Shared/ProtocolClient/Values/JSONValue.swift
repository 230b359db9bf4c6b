// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// Any JSON, to be built with literals and taken apart with subscripts: `packet["body"]["data"]["id"].string`.
///
/// For clients and tests, where clarity counts more than speed. It is not the value of `StrataWire`, so that tests do not read the server's answers with the
/// server's own parser.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses a JSON text, of which any value may be the outermost.
    /// - Throws: an error if it is not JSON.
    public init(parsing data: some DataProtocol) throws { self = try Array(data).withUnsafeBufferPointer { try JSONText.parse($0) } }

    /// Parses a JSON text, of which any value may be the outermost.
    /// - Throws: an error if it is not JSON.
    public init(parsing text: String) throws { self = try Array(text.utf8).withUnsafeBufferPointer { try JSONText.parse($0) } }

    /// The JSON text, with the members of objects in order.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only a number that is not finite has no JSON.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// The member `key` of an object; ``null`` if there is none, or this is no object.
    public subscript(key: String) -> JSONValue {
        get { object?[key] ?? .null }
        set {
            var members = object ?? [:]
            members[key] = newValue
            self = .object(members)
        }
    }

    /// The element at `index` of an array; ``null`` if there is none, or this is no array.
    public subscript(index: Int) -> JSONValue {
        guard let array, array.indices.contains(index) else { return .null }
        return array[index]
    }

    /// Whether there is nothing here.
    public var isNull: Bool { self == .null }
    /// The text of a string; nil for anything else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// A whole number; nil for anything else.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// A whole number that the platform's integer can hold; nil for anything else.
    public var int: Int? { integer.flatMap { Int(exactly: $0) } }
    /// Any number; nil for anything else.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }
    /// A truth value; nil for anything else.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements of an array; nil for anything else.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members of an object; nil for anything else.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }
}

extension JSONValue: Codable {
    /// Reads any JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes the JSON it was read from.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`
    public init(nilLiteral: ()) { self = .null }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// The last of several members with one name counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
}

extension JSONValue: CustomStringConvertible {
    /// The JSON text.
    public var description: String { text }
}
