// SPDX-License-Identifier: Apache-2.0

import NIOCore
import SeededRandom
import TestSupport
import Testing

@testable import Redis

struct ReplyParserTests {
    private func parse(_ pieces: [ByteBuffer], limit: Int = 1 << 20) throws -> [RedisValue] {
        let parser = try ReplyParser(maximumReplyBytes: limit)
        var values: [RedisValue] = []
        for piece in pieces { try parser.feed(piece) { values.append($0.takeValue()) } }
        return values
    }

    private static let wire =
        "+OK\r\n:-5\r\n$-1\r\n*-1\r\n$3\r\na\r\n\r\n*3\r\n$0\r\n\r\n*2\r\n:1\r\n-ERR inner\r\n$2\r\nzz\r\n-MOVED 1 h:2\r\n*0\r\n"
    private static let values: [RedisValue] = [
        .simple("OK"), .integer(-5), .null, .null, .bulk(ByteBuffer(string: "a\r\n")),
        .array([
            .bulk(ByteBuffer()), .array([.integer(1), .error(RedisServerError(text: "ERR inner"))]),
            .bulk(ByteBuffer(string: "zz")),
        ]),
        .error(RedisServerError(text: "MOVED 1 h:2")), .array([]),
    ]

    @Test("every kind of reply is parsed, complete and split at every byte")
    func allKinds() throws {
        let whole = ByteBuffer(string: Self.wire)
        #expect(try parse([whole]) == Self.values)
        #expect(try parse(whole.readableBytesView.map { ByteBuffer(bytes: [$0]) }) == Self.values)
        for cut in 1..<whole.readableBytes {
            let first = try #require(whole.getSlice(at: 0, length: cut))
            let second = try #require(whole.getSlice(at: cut, length: whole.readableBytes - cut))
            #expect(try parse([first, second]) == Self.values)
        }
    }

    @Test("a reply larger than a chunk is parsed completely")
    func large() throws {
        let payload = ByteBuffer(bytes: (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        var wire = ByteBuffer(string: "$100000\r\n")
        wire.writeImmutableBuffer(payload)
        wire.writeString("\r\n:1\r\n")
        #expect(try parse([wire]) == [.bulk(payload), .integer(1)])
    }

    @Test(arguments: [
        "hello\r\n", "\u{0}\u{1}", "*2\r\n?", "%1\r\n+a\r\n+b\r\n", ">1\r\n+x\r\n", "$99999999999999999999\r\n",
        "*2000000\r\n", "*2147483647\r\n",
        ":abc\r\n", "$-2\r\n", "*-2\r\n", "HTTP/1.1 200 OK\r\n\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    ])
    func garbageIsAnError(_ text: String) {
        let error = #expect(throws: RedisError.self) { try parse([ByteBuffer(string: text)]) }
        #expect(error?.code == .protocolViolation)
    }

    @Test("an endless reply is rejected at the limit")
    func limit() {
        let endless = Array(repeating: ByteBuffer(repeating: 120, count: 1000), count: 20)
        #expect(throws: RedisError.self) { try parse([ByteBuffer(string: "$100000\r\n")] + endless, limit: 10_000) }
        #expect(throws: RedisError.self) { try parse([ByteBuffer(string: "+")] + endless, limit: 10_000) }
        let nested = Array(
            repeating: ByteBuffer(string: "$500\r\n" + String(repeating: "x", count: 500) + "\r\n"), count: 30)
        #expect(throws: RedisError.self) { try parse([ByteBuffer(string: "*100\r\n")] + nested, limit: 10_000) }
    }

    @Test("random bytes parse as values or an error, and never crash", arguments: 0..<8)
    func randomBytes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("+-:$*0123456789\r\nab".utf8)
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 1...60, using: &generator))
                .compactMap { _ in alphabet.randomElement(using: &generator) }
            do { _ = try parse([ByteBuffer(bytes: bytes)]) } catch {
                #expect((error as? RedisError)?.code == .protocolViolation)
            }
        }
    }

    @Test func pushMessages() throws {
        let parser = try ReplyParser(maximumReplyBytes: 1000)
        var seen: [String] = []
        let wire =
            "*3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n"
            + "*3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n+PONG\r\n-ERR x\r\n:3\r\n*3\r\n$3\r\nfoo\r\n$1\r\nc\r\n:1\r\n"
        try parser.feed(ByteBuffer(string: wire)) { reply in
            switch reply.takePush() {
            case .message(let message, let channel):
                seen.append("message \(String(buffer: channel)) \(String(buffer: message))")
            case .subscribed(let channel): seen.append("subscribed \(channel)")
            case .unsubscribed(let channel): seen.append("unsubscribed \(channel)")
            case .pong: seen.append("pong")
            case .error(let error): seen.append("error \(error.text)")
            case nil: seen.append("unknown")
            }
        }
        #expect(
            seen == [
                "subscribed c", "message c hi", "unsubscribed c", "pong", "pong", "error ERR x", "unknown", "unknown",
            ])
    }
}
