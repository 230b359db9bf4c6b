// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

struct JSONReaderTests {
    @Test(
        "values are parsed with their types",
        arguments: [
            ("null", JSONValue.null), (" true ", .bool(true)), ("\t\r\nfalse\n", .bool(false)), ("0", .integer(0)),
            ("-0", .integer(0)),
            ("123", .integer(123)), ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .number(9.223372036854775808e18)),
            ("-9223372036854775809", .number(-9.223372036854775808e18)),
            ("1.5", .number(1.5)), ("-0.25e+2", .number(-25)), ("1E3", .number(1000)), ("1e-400", .number(0)),
            ("123456789012345678901234567890", .number(1.2345678901234568e29)), ("\"\"", .string("")),
            ("\"abc\"", .string("abc")),
            ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", .string("\"\\/\u{8}\u{c}\n\r\t")), ("\"\\u00e9\\u20AC\"", .string("é€")),
            ("\"\\ud83d\\ude00\"", .string("😀")), ("\"é😀\u{2028}\u{7f}\"", .string("é😀\u{2028}\u{7f}")),
            ("[]", .array([])), ("[ ]", .array([])),
            ("[1,[2],{}]", .array([.integer(1), .array([.integer(2)]), .object([])])), ("{ }", .object([])),
            (
                "{\"a\" : 1 , \"b\":[null]}",
                .object([.init("a", value: .integer(1)), .init("b", value: .array([.null]))])
            ),
            ("{\"\":0,\"\\u0061\":1}", .object([.init("", value: .integer(0)), .init("a", value: .integer(1))])),
        ] as [(String, JSONValue)])
    func reads(text: String, expected: JSONValue) throws {
        #expect(try JSONReader.parse(text) == expected)
    }

    @Test(
        "invalid JSON is refused, with the position and the reason",
        arguments: [
            ("", 0, JSONError.Reason.unexpectedEnd), ("  ", 2, .unexpectedEnd), ("nul", 3, .unexpectedEnd),
            ("nulL", 0, .invalidLiteral),
            ("True", 0, .unexpectedCharacter), ("truex", 4, .trailingData), ("1 2", 2, .trailingData),
            ("{}{}", 2, .trailingData),
            ("[1]]", 3, .trailingData),
            ("01", 0, .invalidNumber), ("-", 1, .unexpectedEnd), ("-a", 1, .invalidNumber),
            ("+1", 0, .unexpectedCharacter),
            (".5", 0, .unexpectedCharacter),
            ("1.", 2, .unexpectedEnd), ("1.x", 2, .invalidNumber), ("1e", 2, .unexpectedEnd),
            ("1e+", 3, .unexpectedEnd), ("-01", 1, .invalidNumber),
            ("1e999", 0, .numberOutOfRange), ("-1e999", 0, .numberOutOfRange), ("NaN", 0, .unexpectedCharacter),
            ("0x10", 1, .trailingData),
            ("\"", 1, .unexpectedEnd), ("\"abc", 4, .unexpectedEnd), ("\"a\\", 3, .unexpectedEnd),
            ("\"\\x\"", 1, .invalidEscape),
            ("\"\\u12", 5, .unexpectedEnd), ("\"\\u12g4\"", 5, .invalidEscape), ("\"a\nb\"", 2, .controlCharacter),
            ("\"a\u{0}b\"", 2, .controlCharacter),
            ("\"\\n\u{1}\"", 3, .controlCharacter), ("\"\\u0000\"", 1, .nulCharacter),
            ("\"\\ud83d\"", 1, .loneSurrogate),
            ("\"\\ud83dx\"", 1, .loneSurrogate), ("\"\\ud83d\\n\"", 1, .loneSurrogate),
            ("\"\\ud83d\\ud83d\"", 1, .loneSurrogate),
            ("\"\\ude00\"", 1, .loneSurrogate), ("[", 1, .unexpectedEnd), ("[1", 2, .unexpectedEnd),
            ("[1,", 3, .unexpectedEnd),
            ("[1,]", 3, .unexpectedCharacter), ("[,1]", 1, .unexpectedCharacter), ("[1 2]", 3, .unexpectedCharacter),
            ("{", 1, .unexpectedEnd),
            ("{\"a\"", 4, .unexpectedEnd), ("{\"a\" 1}", 5, .unexpectedCharacter),
            ("{\"a\":}", 5, .unexpectedCharacter),
            ("{\"a\":1,}", 7, .unexpectedCharacter),
            ("{a:1}", 1, .unexpectedCharacter), ("{1:1}", 1, .unexpectedCharacter),
            ("{\"a\":1 \"b\":2}", 7, .unexpectedCharacter),
            ("'a'", 0, .unexpectedCharacter),
            ("// c\n1", 0, .unexpectedCharacter), ("\u{feff}1", 0, .unexpectedCharacter),
            ("[1}", 2, .unexpectedCharacter),
            ("{\"a\":1]", 6, .unexpectedCharacter),
        ] as [(String, Int, JSONError.Reason)])
    func refuses(text: String, offset: Int, reason: JSONError.Reason) {
        let error = #expect(throws: JSONError.self) { try JSONReader.parse(text) }
        #expect(error?.offset == offset)
        #expect(error?.reason == reason)
    }

    @Test(
        "bytes that are not UTF-8 are refused",
        arguments: [
            [0x22, 0xff, 0x22], [0x22, 0xc3, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
            [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
            [0x22, 0x5c, 0x6e, 0xe2, 0x82, 0x22],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        let error = #expect(throws: JSONError.self) { try JSONReader.parse(ByteBuffer(bytes: bytes)) }
        #expect(error?.reason == .invalidUTF8)
    }

    @Test("nesting has an exact limit")
    func depth() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = open == "[" ? "" : "1"
            let text = { (depth: Int) in
                String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
            }
            #expect(throws: Never.self) { try JSONReader.parse(text(64)) }
            let error = #expect(throws: JSONError.self) { try JSONReader.parse(text(65)) }
            #expect(error?.reason == .tooDeep)
            #expect(throws: Never.self) { try JSONReader.parse(text(3), maximumDepth: 3) }
            #expect(throws: JSONError.self) { try JSONReader.parse(text(4), maximumDepth: 3) }
            #expect(throws: JSONError.self) { try JSONReader.parse(text(100_000), maximumDepth: .max) }
        }
        #expect(try JSONReader.parse("1", maximumDepth: 0) == .integer(1))
        #expect(throws: JSONError.self) { try JSONReader.parse("[]", maximumDepth: -5) }
    }

    @Test("a number of a megabyte is refused without being converted")
    func longNumber() {
        let error = #expect(throws: JSONError.self) {
            try JSONReader.parse("0." + String(repeating: "1", count: 1_000_000))
        }
        #expect(error?.reason == .numberOutOfRange)
    }

    @Test("the last of several members with the same name counts, and all are kept")
    func duplicates() throws {
        let value = try JSONReader.parse(#"{"a":1,"b":2,"a":3}"#)
        #expect(value["a"] == .integer(3))
        #expect(value.objectValue?.count == 3)
        #expect(value["c"] == nil)
    }

    @Test("accessors return nil for other types")
    func accessors() {
        let value = json(#"{"s":"x","b":true,"a":[1,2.0,1e3,1.5],"n":null,"o":{}}"#)
        #expect(value["s"]?.stringValue == "x")
        #expect(value["s"]?.boolValue == nil)
        #expect(value["b"]?.boolValue == true)
        #expect(value["a"]?.arrayValue?.count == 4)
        #expect(value["a"]?[1]?.integerValue == 2)
        #expect(value["a"]?[2]?.integerValue == 1000)
        #expect(value["a"]?[3]?.integerValue == nil)
        #expect(value["a"]?[4] == nil)
        #expect(value["n"]?.isNull == true)
        #expect(value["o"]?.objectValue?.isEmpty == true)
        #expect(value[0] == nil)
        #expect(value["s"]?["x"] == nil)
        #expect(value.stringValue == nil && value.arrayValue == nil && value.integerValue == nil)
    }

    @Test("an error has the position and reason, and no content")
    func description() throws {
        let error = #expect(throws: JSONError.self) { try JSONReader.parse(#"{"secret":"pass" "word"}"#) }
        #expect(error?.description == "a character that cannot stand here at byte 17")
        #expect(error?.failure.code == .invalidRequest)
        #expect(error?.failure.message.contains("secret") == false)
    }

    @Test("a buffer slice is parsed from its own start")
    func view() throws {
        var buffer = ByteBuffer(string: "xx[1]")
        buffer.moveReaderIndex(forwardBy: 2)
        #expect(try JSONReader.parse(buffer.readableBytesView) == .array([.integer(1)]))
        #expect(try JSONReader.parse(buffer) == .array([.integer(1)]))
    }
}
