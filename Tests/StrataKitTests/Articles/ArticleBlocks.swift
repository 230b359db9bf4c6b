// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The Swift in the articles about StrataKit, as a source file, so that the compiler sees it.
struct ArticleBlocks {
    /// Each article with its blocks, in the order of the names.
    let articles: [(name: String, blocks: [String])]

    /// Reads all articles.
    init() throws {
        let folder = Repository.root.appending(path: "Clients/StrataKit/StrataKit.docc")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter { $0.pathExtension == "md" }
        articles = try files.sorted { $0.path() < $1.path() }
            .map { ($0.deletingPathExtension().lastPathComponent, Self.blocks(in: try String(contentsOf: $0, encoding: .utf8))) }
            .filter { !$0.blocks.isEmpty }
    }

    /// What is between ```` ```swift ```` and ```` ``` ````, each without its line feed at the end.
    static func blocks(in text: String) -> [String] {
        text.components(separatedBy: "\n```swift\n").dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
    }

    /// Each article is a namespace, and each block in it another one: blocks of one article may declare the same names.
    var source: String {
        let header = """
            // SPDX-License-Identifier: Apache-2.0
            // The Swift in Clients/StrataKit/StrataKit.docc. Do not edit: ArticleBlocksTests.swift says how it is made.

            import Foundation
            import StrataKit

            """
        return header + articles.map { "\nenum \($0.name)Article {\n\(Self.source(of: $0.blocks))}\n" }.joined()
    }

    private static func source(of blocks: [String]) -> String {
        blocks.enumerated()
            .map { number, block in
                let lines = block.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("import ") }
                let code = lines.drop { $0.isEmpty }.map { $0.isEmpty ? "" : "        \($0)" }.joined(separator: "\n")
                return "    struct Block\(number + 1) {\n\(code)\n    }\n"
            }
            .joined(separator: "\n")
    }
}
