// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// The status and the body of an HTTP/1.1 response.
struct LoadResponse: Sendable {
    /// The status; 0: the connection ended before the response did.
    var status: Int
    var body = ByteBuffer()

    var isSuccess: Bool { (200..<300).contains(status) }
    /// The text of a refusal.
    var refusal: String { status == 0 ? "the connection ended" : "\(status) \(String(buffer: body))" }
}

/// A reader of HTTP/1.1 responses that costs little: it looks at the status, the length and the body only.
struct HTTPResponseReader {
    private var received = ByteBuffer()

    /// Adds received bytes.
    mutating func append(_ bytes: ByteBuffer) {
        var bytes = bytes
        if received.readableBytes == 0 { received = bytes } else { received.writeBuffer(&bytes) }
    }

    /// Removes and returns the next complete response; nil if it is incomplete.
    /// - Throws: ``BenchProblem`` if the bytes are no response.
    mutating func next() throws -> LoadResponse? {
        guard let head = try readHead() else { return nil }
        var rest = received
        rest.moveReaderIndex(forwardBy: head.byteCount)
        let body: ByteBuffer?
        if head.isChunked {
            body = Self.chunks(&rest)
        } else {
            body = rest.readSlice(length: head.length)
        }
        guard let body else { return nil }
        received = rest.readableBytes == 0 ? ByteBuffer() : rest
        return LoadResponse(status: head.status, body: body)
    }

    private struct Head {
        var status: Int
        var byteCount: Int
        var length = 0
        var isChunked = false
    }

    private func readHead() throws -> Head? {
        try received.withUnsafeReadableBytes { bytes in
            guard let end = bytes.end(of: "\r\n\r\n") else { return nil }
            guard bytes.end(of: "HTTP/1.1 ", within: 9) == 9, let status = bytes.number(at: 9) else {
                throw BenchProblem("the server's answer is not HTTP/1.1")
            }
            var head = Head(status: Int(status), byteCount: end)
            var line = bytes.end(of: "\r\n", within: end) ?? end
            while line < end {
                let next = bytes.end(of: "\r\n", from: line) ?? end
                let field = UnsafeRawBufferPointer(rebasing: bytes[line..<next])
                if let value = Self.value(of: "content-length:", in: field) {
                    head.length = Int(field.number(at: value) ?? 0)
                } else if let value = Self.value(of: "transfer-encoding:", in: field) {
                    head.isChunked = field.end(of: "chunked", from: value) != nil
                }
                line = next
            }
            return head
        }
    }

    /// Returns the offset of a header's value; nil if the line is another header.
    /// - Parameter name: The name in small letters, with the colon.
    private static func value(of name: StaticString, in line: UnsafeRawBufferPointer) -> Int? {
        let length = name.utf8CodeUnitCount
        guard line.count > length, let base = line.baseAddress,
            strncasecmp(base.assumingMemoryBound(to: CChar.self), "\(name)", length) == 0
        else { return nil }
        return line[length...].firstIndex { $0 != UInt8(ascii: " ") }
    }

    /// Removes the chunks of a body and returns their content; nil if it is incomplete.
    private static func chunks(_ bytes: inout ByteBuffer) -> ByteBuffer? {
        var body = ByteBuffer()
        while true {
            guard let end = bytes.withUnsafeReadableBytes({ $0.end(of: "\r\n") }),
                let line = bytes.readString(length: end),
                let size = Int(line.prefix { $0.isHexDigit }, radix: 16), var chunk = bytes.readSlice(length: size),
                bytes.readSlice(length: 2) != nil
            else { return nil }
            if size == 0 { return body }
            body.writeBuffer(&chunk)
        }
    }
}
