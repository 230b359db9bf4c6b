// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataWire
import Testing

@Suite("validation of JSON without building it")
struct JSONOutlineTests {
    private static let outline = JSONOutline([("a", nil), ("b", JSONOutline([("c", nil)]))])

    private func outline(_ text: String) throws -> JSONValue {
        try JSONReader.outline(ByteBuffer(string: text), keeping: Self.outline).value
    }

    @Test("named members are built, the last of duplicates; other members, arrays and objects without outline are not")
    func members() throws {
        #expect(
            try outline(#"{"x":{"a":1},"a":"1","b":{"d":[1],"c":true,"e":"\u00e9"},"a":2}"#)
                == json(#"{"a":2,"b":{"c":true}}"#))
        #expect(try outline(#"{"a":[1,2],"b":{"c":{"a":1}}}"#) == json(#"{"a":[],"b":{"c":{}}}"#))
        #expect(try outline(#"{"\u0061":null}"#) == json(#"{"a":null}"#))
        for text in ["7", "\"x\"", "null"] { #expect(try outline(text) == json(text)) }
    }

    /// Returns the number of bytes of storage that a value refers to.
    private func storage(_ value: JSONValue) -> Int {
        switch value {
        case .null, .bool, .integer, .number: 0
        case .string(let text): Self.storage(text)
        case .array(let elements):
            elements.isEmpty
                ? 0 : 32 + elements.capacity * MemoryLayout<JSONValue>.stride + elements.reduce(0) { $0 + storage($1) }
        case .object(let members):
            members.isEmpty
                ? 0
                : 32 + members.capacity * MemoryLayout<JSONValue.Member>.stride
                    + members.reduce(0) { $0 + Self.storage($1.name) + storage($1.value) }
        }
    }

    private static func storage(_ text: String) -> Int { text.utf8.count > 15 ? 32 + text.utf8.count : 0 }

    @Test(
        "the estimate of parsed bytes is at least the allocated size, and at most four times that",
        arguments: [
            #"{"":0}"#, "[]", "[0]", "[[0]]", #"{"":{"":{"":0}}}"#, #""a text of more than fifteen bytes""#,
            #"{"a name of more than fifteen bytes":"x"}"#,
            #"{"a":1,"b":2,"c":3,"d":4,"e":5}"#, "[1,2,3,4,5,6,7,8,9]",
            #"{"mime_type":"text/plain","body":"h\u00e9llo, this is a longer text"}"#,
        ])
    func parsedBytes(element: String) throws {
        for count in [1, 3, 100, 1000] {
            let text = ByteBuffer(string: "[" + Array(repeating: element, count: count).joined(separator: ",") + "]")
            let estimate = try JSONReader.parsedBytes(of: text)
            let allocated = storage(try JSONReader.parse(text))
            #expect(estimate >= allocated && estimate <= 4 * allocated + 200, "\(estimate) for \(allocated)")
        }
    }
}
