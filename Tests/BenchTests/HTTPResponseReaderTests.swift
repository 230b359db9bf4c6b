// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import Bench

@Suite("responses over HTTP")
struct HTTPResponseReaderTests {
    /// Reads responses from bytes that arrive in pieces.
    private func read(_ text: String, pieces size: Int) throws -> [String] {
        var reader = HTTPResponseReader()
        var found: [String] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            reader.append(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
            while let response = try reader.next() {
                found.append("\(response.status) \(String(buffer: response.body))")
            }
        }
        return found
    }

    private static let stream =
        "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nbody"
        + "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n"
        + "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n"
        + "HTTP/1.1 503 Service Unavailable\r\nCONTENT-LENGTH:0\r\n\r\n"

    @Test(
        "bodies with a length, in chunks and without one are read, however the bytes arrive", arguments: [1, 7, 1000])
    func stream(size: Int) throws {
        #expect(try read(Self.stream, pieces: size) == ["201 body", "204 ", "200 abc0123456789", "503 "])
    }

    @Test("an incomplete response is none")
    func incomplete() throws {
        #expect(try read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour", pieces: 1000).isEmpty)
        #expect(try read("HTTP/1.1 200 OK\r\nContent-Le", pieces: 1000).isEmpty)
        #expect(try read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", pieces: 1000).isEmpty)
    }

    @Test("other bytes are an error")
    func garbage() {
        #expect(throws: BenchProblem.self) { try read("SSH-2.0-x\r\n\r\n", pieces: 1000) }
    }
}
