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
    @Test("README shows lines of the example Hello, in their order")
    func readme() throws {
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        var rest = lines(try Repository.text("Examples/Hello/Sources/Hello/Hello.swift"))[...]
        let blocks = ArticleBlocks.blocks(in: try Repository.text("README.md"))
        let shown = lines(try #require(blocks.first))
        #expect(blocks.count == 1 && shown.count >= 15)
        for line in shown {
            let place = try #require(rest.firstIndex(of: line), "Hello.swift does not contain the line: \(line)")
            rest = rest[(place + 1)...]
        }
    }
}
