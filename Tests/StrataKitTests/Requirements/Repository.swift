// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The source files for the table of requirements.
enum Repository {
    /// The folders whose tests may claim proofs.
    private static let testFolders = ["Tests/EndToEndTests", "Tests/StrataKitTests"]

    /// The repository's root. Links are resolved first, because another package may link the folder of the tests.
    static let root = (0..<4)
        .reduce(URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()) { url, _ in url.deletingLastPathComponent() }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func proofs() throws -> [Proof] {
        try testFolders.flatMap(swiftFiles)
            .flatMap { path in
                let source = try text(path)
                return source.contains(".proves(") ? try Proof.all(in: source, file: path) : []
            }
    }

    private static func swiftFiles(in folder: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(".swift") }.sorted()
            .map { "\(folder)/\($0)" }
    }
}
