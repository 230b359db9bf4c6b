// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("the Swift in documents")
struct ArticleBlocksTests {
    /// The generated file is compiled with these tests. `STRATA_ARTICLES_WRITE=1` regenerates it.
    @Test("every code block of the StrataKit articles is in the compiled file")
    func articles() throws {
        let blocks = try ArticleBlocks()
        #expect(blocks.articles.count >= 4)
        let file = Repository.root.appending(path: "Tests/StrataKitTests/Articles/Articles+Blocks.swift")
        if ProcessInfo.processInfo.environment["STRATA_ARTICLES_WRITE"] == "1" {
            try blocks.source.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: file, encoding: .utf8) == blocks.source,
            "An article has changed. Run this test with STRATA_ARTICLES_WRITE=1, and commit the file.")
    }

    /// The example is also compiled as a separate target.
    @Test("README shows the example Hello unchanged, without its first lines")
    func readme() throws {
        let example = try Repository.text("Examples/Hello/Sources/Hello/Hello.swift")
        let body = try #require(example.firstRange(of: "\n\n")).upperBound
        #expect(
            ArticleBlocks.blocks(in: try Repository.text("README.md")) == [
                example[body...].trimmingCharacters(in: .newlines)
            ])
    }
}
