// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import StrataKit

@Suite("the content folder")
struct ContentFolderTests {
    private let content = ContentID.random()
    private let part = UUID()

    private func names(in folder: ContentFolder) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.url.path))
    }

    private func withFolder(_ body: (ContentFolder) throws -> Void) async throws {
        try await withTemporaryFolder { try body(ContentFolder(url: $0.appendingPathComponent("a/content"))) }
    }

    @Test("a file has the id of its content and an extension for its type (PART-4)")
    func names() {
        #expect(ContentFolder.name(of: content, mimeType: "image/jpeg") == "\(content).jpg")
        #expect(
            ContentFolder.name(ofPart: part, mimeType: "text/plain") == "upload-\(part.uuidString.lowercased()).txt")
    }

    @Test("content for upload is copied, from memory or a file, any number of times")
    func stage() async throws {
        try await withFolder { folder in
            let source = folder.url.appendingPathComponent("../source")
            try Data("hello".utf8).write(to: source)
            let parts = [
                try NewMessagePart(mimeType: "text/plain", data: Data("hello".utf8)),
                try NewMessagePart(mimeType: "text/plain", fileURL: source),
            ]
            for part in parts + parts {
                let name = try folder.stage(part, id: self.part)
                #expect(try Data(contentsOf: folder.file(name)) == Data("hello".utf8))
                #expect(try names(in: folder) == [name])
            }
            #expect(folder.utilization == 5)
        }
    }

    @Test("a changed or missing file is not uploaded, and no copy of it stays")
    func changed() async throws {
        try await withFolder { folder in
            let source = folder.url.appendingPathComponent("../source")
            try Data("hello".utf8).write(to: source)
            let part = try NewMessagePart(mimeType: "text/plain", fileURL: source)
            try Data("hello!".utf8).write(to: source)
            expectError(.invalidArgument) { _ = try folder.stage(part, id: self.part) }
            try FileManager.default.removeItem(at: source)
            expectError(.devicePersistenceFailure) { _ = try folder.stage(part, id: self.part) }
            #expect(try names(in: folder) == [])
        }
    }

    @Test("a complete download gets its file name, and an existing file stays")
    func complete() async throws {
        try await withFolder { folder in
            for text in ["first", "other"] {
                try Data(text.utf8).write(to: folder.partialFile(of: content))
                try folder.complete(folder.partialFile(of: content), as: "x.txt")
                #expect(try names(in: folder) == ["x.txt"])
                #expect(try String(contentsOf: folder.file("x.txt"), encoding: .utf8) == "first")
            }
            expectError(.devicePersistenceFailure) { try folder.complete(folder.partialFile(of: content), as: "y") }
        }
    }

    @Test("after a kill, unreferenced files are deleted, and resumable ones stay")
    func leftovers() async throws {
        try await withFolder { folder in
            let kept: Set = ["kept.txt", "\(content).part"]
            for name in kept.union(["lost.txt", "\(ContentID.random()).part", "upload-x.txt.part"]) {
                try Data("x".utf8).write(to: folder.file(name))
            }
            folder.removeLeftovers(keeping: ["kept.txt"], resumable: [content])
            #expect(try names(in: folder) == kept)
            folder.removeFiles(["kept.txt", "never there"])
            #expect(try names(in: folder) == ["\(content).part"])
        }
    }

    @Test("a folder that cannot be made is an error")
    func unusable() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("file")
            try Data().write(to: file)
            expectError(.devicePersistenceFailure) {
                _ = try ContentFolder(url: file.appendingPathComponent("content"))
            }
        }
    }
}
