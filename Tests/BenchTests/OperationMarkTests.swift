// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import Bench

@Suite("marks of operations")
struct OperationMarkTests {
    private let mark = OperationMark(run: 12, room: 39, sender: 4, number: 1_234_567, due: 98_765_432_109_876)

    private func find(_ text: String) -> OperationMark? {
        Array(text.utf8).withUnsafeBytes { OperationMark.find(in: $0) }
    }

    @Test("a mark has a fixed length and is read back")
    func roundTrip() {
        #expect(mark.text.utf8.count == OperationMark.byteCount)
        #expect(find("{\"body\":\"\(mark.text)xxx\"}") == mark)
        let highest = OperationMark(run: 9999, room: 999_999, sender: 9999, number: 999_999_999, due: .max)
        #expect(find(highest.text) == highest)
    }

    @Test("a text without a whole mark has none")
    func incomplete() {
        #expect(find("") == nil)
        #expect(find("bench") == nil)
        #expect(find("bench:0001") == nil)
        #expect(find(String(mark.text.dropLast())) == nil)
        #expect(find("ben\(mark.text)") == mark)
    }

    @Test("a template differs only in its mark")
    func template() {
        let text = "{\"a\":\"\(OperationMark.placeholder)\",\"b\":1}"
        let template = RequestTemplate(ByteBuffer(string: text))
        #expect(String(buffer: template.request(mark)) == "{\"a\":\"\(mark.text)\",\"b\":1}")
        #expect(String(buffer: template.request(.init(run: 0, room: 0, sender: 0, number: 0, due: 0))) == text)
    }

    @Test("a template without a mark stays as it is")
    func fixedTemplate() {
        let template = RequestTemplate(ByteBuffer(string: "typing"))
        #expect(String(buffer: template.request(mark)) == "typing")
    }

    @Test(
        "texts are found within a range",
        arguments: [
            ("", 0, 100, nil), ("\"x\":1", 0, 100, 4), ("..\"x\":1", 0, 5, nil), ("..\"x\":1", 0, 6, 6),
            ("\"x\":\"x\":", 1, 100, 8), ("\"x\"\"x\":", 0, 100, 7), ("\"x\"", 0, 100, nil), ("\"x\":", 4, 100, nil),
        ] as [(String, Int, Int, Int?)])
    func search(text: String, offset: Int, limit: Int, end: Int?) {
        let found = Array(text.utf8).withUnsafeBytes { $0.end(of: "\"x\":", from: offset, within: limit) }
        #expect(found == end)
    }

    @Test("numbers are read up to the first other letter")
    func numbers() {
        Array("ab120,".utf8)
            .withUnsafeBytes {
                #expect($0.number(at: 2) == 120)
                #expect($0.number(at: 0) == nil)
                #expect($0.number(at: 6) == nil)
            }
    }
}
