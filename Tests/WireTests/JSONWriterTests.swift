// SPDX-License-Identifier: Apache-2.0
import NIOCore
import SeededRandom
import StrataModel
import StrataWire
import Testing

struct JSONWriterTests {
    private func text(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 0)
        body(&writer)
        return String(buffer: writer.buffer)
    }

    @Test("values and members are separated by commas")
    func structure() {
        let result = text { writer in
            writer.beginObject()
            writer.key("a")
            writer.beginArray()
            writer.int(1)
            writer.string("x")
            writer.string(nil)
            writer.string(constant: "c")
            writer.bool(true)
            writer.bool(false)
            writer.null()
            writer.double(1.5)
            writer.double(.infinity)
            writer.raw("[]")
            writer.raw(constant: "{}")
            writer.raw(ByteBuffer(string: "7"))
            writer.beginObject()
            writer.endObject()
            writer.beginArray()
            writer.endArray()
            writer.endArray()
            writer.key("b")
            writer.beginObject()
            writer.key(escaping: "q\"")
            writer.timestamp(created)
            writer.endObject()
            writer.key("c")
            writer.timestamp(nil)
            writer.endObject()
        }
        #expect(
            result
                == #"{"a":[1,"x",null,"c",true,false,null,1.5,null,[],{},7,{},[]],"b":{"q\"":"2018-05-04T09:30:00.125Z"},"c":null}"#
        )
    }

    @Test(
        "integers are written with all their digits",
        arguments: [
            0, 1, -1, 9, 10, 99, 100, -100, 1_234_567_890, 999_999_999_999_999_999, 1_000_000_000_000_000_000, .max,
            .min,
        ] as [Int64])
    func integers(value: Int64) {
        #expect(text { $0.int(value) } == String(value))
    }

    @Test("exactly the required characters are escaped")
    func escapes() throws {
        for code in (0...0x2100).map({ UInt32($0) }) + [0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff] {
            guard let scalar = Unicode.Scalar(code) else { continue }
            let plain = "a" + String(Character(scalar)) + "b"
            let result = text { $0.string(plain) }
            switch scalar {
            case "\"": #expect(result == #""a\"b""#)
            case "\\": #expect(result == #""a\\b""#)
            case "\n": #expect(result == #""a\nb""#)
            case "\r": #expect(result == #""a\rb""#)
            case "\t": #expect(result == #""a\tb""#)
            case "\u{8}": #expect(result == #""a\bb""#)
            case "\u{c}": #expect(result == #""a\fb""#)
            case "\u{1f}": #expect(result == #""a\u001fb""#)
            case "\u{0}": #expect(result == #""a\u0000b""#)
            case _ where code < 0x20: #expect(result.utf8.count == 10)
            default: #expect(result == "\"\(plain)\"")
            }
            if code != 0 { #expect(try JSONReader.parse(result) == .string(plain)) }
        }
    }

    @Test("long and short strings, with and without contiguous storage, are written alike")
    func substrings() {
        for count in [0, 1, 15, 16, 17, 100, 10_000] {
            let long = String(repeating: "é\"", count: count)
            #expect(
                text { $0.string(String(long.dropFirst(0))) } == "\"" + String(repeating: "é\\\"", count: count) + "\"")
        }
    }

    @Test("every written value is parsed back unchanged")
    func roundTrip() throws {
        for seed in 0..<3000 {
            var generator = SeededGenerator(seed: UInt64(seed))
            let value = Self.random(depth: 5, using: &generator)
            let written = text { $0.value(value) }
            #expect(try JSONReader.parse(written) == value, "seed \(seed)")
        }
    }

    static func random(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2:
            return .integer(
                Int64(bitPattern: UInt64.random(in: 0...UInt64.max, using: &generator))
                    >> Int64.random(in: 0..<64, using: &generator))
        case 3:
            let value = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &generator))
            return .number(value.isFinite ? value : 0.5)
        case 4, 5: return .string(randomText(using: &generator))
        case 6:
            return .array(
                (0..<Int.random(in: 0..<5, using: &generator)).map { _ in random(depth: depth - 1, using: &generator) })
        default:
            return .object(
                (0..<Int.random(in: 0..<5, using: &generator))
                    .map { _ in
                        .init(randomText(using: &generator), value: random(depth: depth - 1, using: &generator))
                    })
        }
    }

    static func randomText(using generator: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0..<24, using: &generator) {
            let limit: UInt32 = [0x20, 0x80, 0x800, 0x11_0000].randomElement(using: &generator) ?? 0x80
            if let scalar = Unicode.Scalar(UInt32.random(in: 1..<limit, using: &generator)) {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
