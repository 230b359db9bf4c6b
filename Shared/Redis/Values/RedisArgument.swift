// SPDX-License-Identifier: Apache-2.0

public import NIOCore

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
