// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("transport of parts to the server")
struct PartPlacementTests {
    private func place(_ type: String, _ data: Data) -> PartPlacement { PartPlacement(mimeType: type, data: data) }

    private func place(_ text: String) -> PartPlacement { place("text/plain", Data(text.utf8)) }

    @Test("a text of up to 2,048 UTF-16 units is inline, with any number of bytes", .proves("PART-2"))
    func texts() {
        let limit = 2048
        for unit in ["a", "ü", "€"] {
            let text = String(repeating: unit, count: limit)
            #expect(place(text) == .text(text))
            #expect(place(text + unit) == .content)
        }
        let pairs = String(repeating: "😀", count: limit / 2)
        #expect(place(pairs) == .text(pairs))
        #expect(place(pairs + "a") == .content)
    }

    @Test("other types are inline up to 2,048 bytes, encoded", .proves("PART-2"))
    func bytes() {
        #expect(place("image/png", Data(count: 2048)) == .base64(Data(count: 2048)))
        #expect(place("image/png", Data(count: 2049)) == .content)
        #expect(place("application/json", Data("{}".utf8)) == .base64(Data("{}".utf8)))
    }

    @Test("an invalid text, or one with a NUL, is sent as bytes")
    func badText() {
        #expect(place("text/plain", Data([0xff])) == .base64(Data([0xff])))
        #expect(place("a\0b") == .base64(Data("a\0b".utf8)))
        #expect(place("text/plain", Data(repeating: 0xff, count: 2049)) == .content)
        #expect(place("Text/HTML", Data("x".utf8)) == .text("x"))
    }

    @Test("empty data is inline (PART-3)")
    func empty() {
        #expect(place("") == .text(""))
        #expect(place("image/png", Data()) == .base64(Data()))
    }

    @Test("inline parts have a body and its encoding on the wire")
    func members() {
        #expect(place("hi").members == ["body": "hi"])
        #expect(place("image/png", Data([1, 2, 3])).members == ["body": "AQID", "encoding": "base64"])
        #expect(PartPlacement.content.members == [:])
    }

    @Test("a small file is inline, a large one is not read, a changed one is refused")
    func files() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("a.txt")
            try Data("hello".utf8).write(to: file)
            let small = try NewMessagePart(mimeType: "text/plain", fileURL: file)
            #expect(try PartPlacement(small) == .text("hello"))
            try Data(count: 10_000).write(to: file)
            expectError(.invalidArgument) { _ = try PartPlacement(small) }
            #expect(try PartPlacement(NewMessagePart(mimeType: "text/plain", fileURL: file)) == .content)
        }
    }

    @Test("the largest parts are uploaded if a message has too many bytes")
    func together() throws {
        let many = try (0..<128).map { _ in try NewMessagePart(mimeType: "a/b", data: Data(count: 2048)) }
        #expect(try PartPlacement.plan(for: many).allSatisfy { $0 != .content })
        let plan = try PartPlacement.plan(for: [.text("x")] + many + [.text("y")])
        #expect(plan.first == .text("x") && plan.last == .text("y"))
        #expect(plan.indices.filter { plan[$0] == .content } == [1])
    }

    @Test("multi-byte texts count their bytes towards the message's limit")
    func textBytes() throws {
        let text = NewMessagePart.text(String(repeating: "€", count: 2048))
        let plan = try PartPlacement.plan(for: Array(repeating: text, count: 43))
        #expect(plan.count { $0 == .content } == 1)
        #expect(plan.reduce(0) { $0 + $1.inlineSize } <= 262_144)
    }

    @Test("content options select automatic downloads", .proves("PART-5"))
    func autodownload() {
        let none = ContentOptions()
        #expect(!none.downloads(mimeType: "text/plain", size: 1, wasPurged: false))
        let texts = ContentOptions(autodownloadMaximumContentSize: 100)
        #expect(texts.downloads(mimeType: "TEXT/plain;charset=utf-8", size: 100, wasPurged: false))
        #expect(!texts.downloads(mimeType: "text/plain", size: 101, wasPurged: false))
        #expect(!texts.downloads(mimeType: "text/plain", size: 1, wasPurged: true))
        #expect(!texts.downloads(mimeType: "image/png", size: 1, wasPurged: false))
        #expect(
            ContentOptions(autodownloadMIMETypes: nil, autodownloadMaximumContentSize: 1)
                .downloads(mimeType: "x/y", size: 1, wasPurged: false))
        #expect(
            !ContentOptions(autodownloadMIMETypes: [], autodownloadMaximumContentSize: 1)
                .downloads(mimeType: "x/y", size: 1, wasPurged: false))
    }
}
