// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The Swift code blocks of the StrataKit articles, combined into a source file, so that the compiler checks them.
struct ArticleBlocks {
    /// The articles and their code blocks, sorted by article name.
    let articles: [(name: String, blocks: [String])]

    init() throws {
        let folder = Repository.root.appending(path: "Clients/StrataKit/StrataKit.docc")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
        articles = try files.sorted { $0.path() < $1.path() }
            .map {
                (
                    $0.deletingPathExtension().lastPathComponent,
                    Self.blocks(in: try String(contentsOf: $0, encoding: .utf8))
                )
            }
            .filter { !$0.blocks.isEmpty }
    }

    /// Returns the code blocks between ```` ```swift ```` and ```` ``` ````, each without its trailing line feed.
    static func blocks(in text: String) -> [String] {
        text.components(separatedBy: "\n```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
    }

    /// The generated source file. Each article and each block has its own namespace, because blocks of one article may
    /// declare the same names.
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
                let lines = block.split(separator: "\n", omittingEmptySubsequences: false)
                    .filter { !$0.hasPrefix("import ") }
                let code = lines.drop { $0.isEmpty }.map { $0.isEmpty ? "" : "        \($0)" }.joined(separator: "\n")
                return "    struct Block\(number + 1) {\n\(code)\n    }\n"
            }
            .joined(separator: "\n")
    }
}
