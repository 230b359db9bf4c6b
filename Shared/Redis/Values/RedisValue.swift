// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// A reply of the server, as RESP2 has it.
public enum RedisValue: Sendable, Equatable {
    /// The null bulk string or the null array.
    case null
    /// A status such as `OK`.
    case simple(String)
    /// A binary-safe string.
    case bulk(ByteBuffer)
    /// A 64-bit integer.
    case integer(Int64)
    /// An array, whose elements may be of any kind.
    case array([RedisValue])
    /// An error inside an array. One that is the whole reply is thrown instead, as ``RedisError/Code/server``.
    case error(RedisServerError)
}

extension RedisValue {
    /// Whether the value is ``null``.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The text of a status, or of a bulk string (invalid UTF-8 is repaired); nil for anything else.
    public var string: String? {
        switch self {
        case .simple(let text): text
        case .bulk(let buffer): String(buffer: buffer)
        case .null, .integer, .array, .error: nil
        }
    }

    /// An integer, or a bulk string that is the decimal form of one; nil for anything else.
    public var int: Int64? {
        switch self {
        case .integer(let value): value
        case .bulk(let buffer): Int64(String(buffer: buffer))
        case .null, .simple, .array, .error: nil
        }
    }

    /// The bytes of a bulk string or a status; nil for anything else.
    public var bytes: ByteBuffer? {
        switch self {
        case .bulk(let buffer): buffer
        case .simple(let text): ByteBuffer(string: text)
        case .null, .integer, .array, .error: nil
        }
    }

    /// The elements of an array; nil for anything else.
    public var array: [RedisValue]? { if case .array(let elements) = self { elements } else { nil } }
}
