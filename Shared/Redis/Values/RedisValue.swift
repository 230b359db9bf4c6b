// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// A reply of the server in RESP2.
public enum RedisValue: Sendable, Equatable {
    /// The null bulk string or the null array.
    case null
    /// A status such as `OK`.
    case simple(String)
    /// A binary-safe string.
    case bulk(ByteBuffer)
    /// A 64-bit integer.
    case integer(Int64)
    /// An array with elements of any kind.
    case array([RedisValue])
    /// An error within an array. An error that is the whole reply is thrown as ``RedisError/Code/server``.
    case error(RedisServerError)
}

extension RedisValue {
    /// True if the value is ``null``.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The text of a status or of a bulk string, with invalid UTF-8 repaired; nil for other values.
    public var string: String? {
        switch self {
        case .simple(let text): text
        case .bulk(let buffer): String(buffer: buffer)
        case .null, .integer, .array, .error: nil
        }
    }

    /// The value of an integer, or of a bulk string with a decimal number; nil for other values.
    public var int: Int64? {
        switch self {
        case .integer(let value): value
        case .bulk(let buffer): Int64(String(buffer: buffer))
        case .null, .simple, .array, .error: nil
        }
    }

    /// The bytes of a bulk string or a status; nil for other values.
    public var bytes: ByteBuffer? {
        switch self {
        case .bulk(let buffer): buffer
        case .simple(let text): ByteBuffer(string: text)
        case .null, .integer, .array, .error: nil
        }
    }

    /// The elements of an array; nil for other values.
    public var array: [RedisValue]? { if case .array(let elements) = self { elements } else { nil } }
}

/// An argument of a command, including the command's name.
public enum RedisArgument: Sendable, Equatable {
    /// Text, sent as UTF-8.
    case string(String)
    /// Bytes, sent unchanged.
    case bytes(ByteBuffer)
    /// A number, sent in decimal.
    case integer(Int64)

    /// An upper bound of the argument's size on the wire, in bytes.
    var cost: Int {
        switch self {
        case .string(let text): text.utf8.count + 16
        case .bytes(let buffer): buffer.readableBytes + 16
        case .integer: 32
        }
    }
}

extension RedisArgument: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    /// Creates text, which is sent as UTF-8.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Creates a number, which is sent in decimal.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}
