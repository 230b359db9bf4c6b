// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A JSON value, built with literals and read with subscripts: `packet["body"]["data"]["id"].string`.
///
/// It is for clients and tests, where clarity is more important than speed. It differs from the value of `StrataWire`,
/// so that tests do not parse the server's responses with the server's own parser.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses JSON text with any value at the top level.
    /// - Throws: an error if the text is not JSON.
    public init(parsing data: some DataProtocol) throws {
        self = try Array(data).withUnsafeBufferPointer { try JSONText.parse($0) }
    }

    /// Parses JSON text with any value at the top level.
    /// - Throws: an error if the text is not JSON.
    public init(parsing text: String) throws {
        self = try Array(text.utf8).withUnsafeBufferPointer { try JSONText.parse($0) }
    }

    /// The JSON text, with members sorted by name.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding fails only for numbers that are not finite.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// The member `key` of an object, or ``null`` if it does not exist or the value is not an object.
    public subscript(key: String) -> JSONValue {
        get { object?[key] ?? .null }
        set {
            var members = object ?? [:]
            members[key] = newValue
            self = .object(members)
        }
    }

    /// The element at `index` of an array, or ``null`` if it does not exist or the value is not an array.
    public subscript(index: Int) -> JSONValue {
        guard let array, array.indices.contains(index) else { return .null }
        return array[index]
    }

    /// True if the value is null.
    public var isNull: Bool { self == .null }
    /// The text of a string; nil for other values.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of an integer; nil for other values.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The value of an integer that fits into `Int`; nil for other values.
    public var int: Int? { integer.flatMap { Int(exactly: $0) } }
    /// The value of any number; nil for other values.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }
    /// The value of a Boolean; nil for other values.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements of an array; nil for other values.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members of an object; nil for other values.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }
}

extension JSONValue: Codable {
    /// Decodes any JSON value.
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

    /// Encodes the value.
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

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object. Of several members with the same name, the last one applies.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
}

extension JSONValue: CustomStringConvertible {
    /// The JSON text.
    public var description: String { text }
}
