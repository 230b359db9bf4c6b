// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// An encoder of commands as RESP arrays of bulk strings.
///
/// It is equivalent to `redisFormatCommandArgv` without its two allocations and the extra copy for each command.
enum CommandEncoder {
    static func encode(_ arguments: some Collection<RedisArgument>, into buffer: inout ByteBuffer) {
        writeHead(type: UInt8(ascii: "*"), count: arguments.count, into: &buffer)
        for argument in arguments { encode(argument, into: &buffer) }
    }

    static func encode(_ argument: RedisArgument, into buffer: inout ByteBuffer) {
        switch argument {
        case .string(let text):
            writeHead(type: UInt8(ascii: "$"), count: text.utf8.count, into: &buffer)
            buffer.writeString(text)
        case .bytes(let bytes):
            writeHead(type: UInt8(ascii: "$"), count: bytes.readableBytes, into: &buffer)
            buffer.writeImmutableBuffer(bytes)
        case .integer(let value):
            let text = String(value)
            writeHead(type: UInt8(ascii: "$"), count: text.utf8.count, into: &buffer)
            buffer.writeString(text)
        }
        buffer.writeStaticString("\r\n")
    }

    private static func writeHead(type: UInt8, count: Int, into buffer: inout ByteBuffer) {
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 24) { bytes in
            var digits = 1
            var rest = count
            while rest >= 10 {
                rest /= 10
                digits += 1
            }
            bytes[0] = type
            rest = count
            for index in stride(from: digits, to: 0, by: -1) {
                bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            bytes[digits + 1] = UInt8(ascii: "\r")
            bytes[digits + 2] = UInt8(ascii: "\n")
            return digits + 3
        }
    }
}
