// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

func withTemporaryFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID())", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

func expectError(_ code: StrataError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void)
{
    let error = #expect(throws: StrataError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}

@Suite("new message parts")
struct NewMessagePartTests {
    @Test(
        "a MIME type has two words with one slash between them", .proves("PART-1"),
        arguments: ["text/plain", "a/b", "text/html;charset=utf-8", "application/x.y+json"])
    func validTypes(_ type: String) throws {
        #expect(try NewMessagePart(mimeType: type, data: Data()).mimeType == type)
    }

    @Test(
        "any other MIME type is refused", .proves("PART-1"),
        arguments: [
            "", "/", "text", "text/", "/plain", "a/b/c", "text/plain; charset=utf-8", " a/b", "a/b\n", "a\u{a0}b/c",
            "a/ü", "a/\0",
        ])
    func invalidTypes(_ type: String) {
        expectError(.invalidArgument) { _ = try NewMessagePart(mimeType: type, data: Data()) }
        expectError(.invalidArgument) { _ = try NewMessagePart(mimeType: type, fileURL: URL(fileURLWithPath: "/")) }
    }

    @Test("a type has at most 255 characters")
    func longType() throws {
        _ = try NewMessagePart(mimeType: "a/" + String(repeating: "b", count: 253), data: Data())
        expectError(.invalidArgument) {
            _ = try NewMessagePart(mimeType: "a/" + String(repeating: "b", count: 254), data: Data())
        }
    }

    @Test("a text part is text/plain in UTF-8", .proves("PART-1"))
    func text() {
        let part = NewMessagePart.text("Grüße")
        #expect(part.mimeType == "text/plain")
        #expect(part.size == 7)
        #expect(part.source == .data(Data("Grüße".utf8)))
    }

    @Test("empty data is valid (PART-3)")
    func empty() throws {
        #expect(try NewMessagePart(mimeType: "image/png", data: Data()).size == 0)
        #expect(NewMessagePart.text("").size == 0)
    }

    @Test("a file must be readable and has its size, also through links")
    func files() async throws {
        try await withTemporaryFolder { folder in
            let (file, link) = (folder.appendingPathComponent("a"), folder.appendingPathComponent("b"))
            try Data(count: 5000).write(to: file)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            for url in [file, link] { #expect(try NewMessagePart(mimeType: "a/b", fileURL: url).size == 5000) }
            for url in [folder, folder.appendingPathComponent("none")] {
                expectError(.invalidArgument) { _ = try NewMessagePart(mimeType: "a/b", fileURL: url) }
            }
            let page = try #require(URL(string: "https://example.org/a"))
            expectError(.invalidArgument) { _ = try NewMessagePart(mimeType: "a/b", fileURL: page) }
        }
    }

    @Test("the maximum size is 2 GiB", .proves("PART-2"))
    func largest() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("large")
            try Data().write(to: file)
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: 2_147_483_648)
            #expect(try NewMessagePart(mimeType: "a/b", fileURL: file).size == 2_147_483_648)
            try handle.truncate(atOffset: 2_147_483_649)
            expectError(.dataLengthExceedsMaximum) { _ = try NewMessagePart(mimeType: "a/b", fileURL: file) }
        }
    }

    @Test("the extension of a file follows from the type, and contains nothing that a sender could exploit (PART-4)")
    func extensions() {
        let cases = [
            "text/plain": "txt", "Text/Plain;charset=utf-8": "txt", "image/jpeg": "jpg", "image/png": "png",
            "video/mp4": "mp4", "a/../../x": "bin",
            "a/b.c": "bin", "a/x-y": "bin", "a/verylongsubtype": "bin", "nonsense": "bin", "": "bin",
            "image/SVG+xml": "svg", "a/ü": "bin",
        ]
        for (type, expected) in cases { #expect(MIMEType.fileExtension(type) == expected, "\(type)") }
    }
}
