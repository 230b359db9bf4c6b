// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// One argument of a command, the command's name included.
public enum RedisArgument: Sendable, Equatable {
    /// Text, sent as UTF-8.
    case string(String)
    /// Bytes, sent as they are.
    case bytes(ByteBuffer)
    /// A number, sent in decimal.
    case integer(Int64)

    /// An upper bound of what the argument takes on the wire, in bytes.
    var cost: Int {
        switch self {
        case .string(let text): text.utf8.count + 16
        case .bytes(let buffer): buffer.readableBytes + 16
        case .integer: 32
        }
    }
}

extension RedisArgument: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    /// A literal string is sent as UTF-8.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A literal number is sent in decimal.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}
