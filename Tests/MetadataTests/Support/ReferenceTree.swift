// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import StrataModel
import TestSupport

/// A reference implementation of patches: a flat dictionary from path to value. It shares no code with the
/// implementation under test.
struct ReferenceTree: Equatable {
    var values: [String: String] = [:]

    mutating func apply(_ operations: [MetadataOperation]) {
        for operation in operations {
            let path = operation.path.dotted
            values = values.filter { !Self.isBelow($0.key, path) && $0.key != path }
            guard case .set(_, let leaves) = operation, !leaves.isEmpty else { continue }
            values = values.filter { !Self.isBelow(path, $0.key) }
            for leaf in leaves { values[leaf.path.dotted] = leaf.value }
        }
    }

    /// Returns the effects that turn `self` into `after`: deletions by path, then sets by path.
    func effects(to after: ReferenceTree) -> [MetadataEffect] {
        let sets = after.values.filter { values[$0.key] != $0.value }
        var deletions: Set<String> = []
        for path in values.keys where after.values[path] == nil {
            let prefixes = Self.prefixes(path)
            if prefixes.contains(where: { after.values[$0] != nil }) { continue }
            deletions.insert(
                prefixes.first { prefix in !after.values.keys.contains { Self.isBelow($0, prefix) } } ?? path)
        }
        func sorted(_ paths: some Sequence<String>) -> [String] {
            paths.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        return sorted(deletions).map { MetadataEffect(path: MetadataPath(trusted: $0), value: nil) }
            + sorted(sets.keys).map { MetadataEffect(path: MetadataPath(trusted: $0), value: sets[$0]) }
    }

    var tree: MetadataTree { MetadataTree(leaves: leaves) }
    var leaves: [MetadataLeaf] { values.map { MetadataLeaf(path: MetadataPath(trusted: $0.key), value: $0.value) } }

    private static func isBelow(_ path: String, _ ancestor: String) -> Bool {
        ancestor.isEmpty || path.hasPrefix(ancestor + ".")
    }
    private static func prefixes(_ path: String) -> [String] {
        let keys = path.split(separator: ".")
        return keys.indices.map { keys[...$0].joined(separator: ".") }
    }
}

/// Generates patches with all kinds of operations. They use few keys, so that they interfere.
struct PatchGenerator {
    var random: SeededGenerator
    /// The keys include `a-b` and `a_`, which surround `a.` in byte order.
    static let keys = ["a", "b", "a-b", "a_", "A"]

    mutating func patch() -> [MetadataOperation] {
        (0..<([1, 1, 1, 2, 3, 5].randomElement(using: &random) ?? 1)).map { _ in operation() }
    }

    private mutating func operation() -> MetadataOperation {
        let path = path()
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: return .set(path, leaves: [MetadataLeaf(path: path, value: value())])
        case 8..<13: return .delete(path)
        case 13..<18: return .set(path, leaves: leaves(below: path, depth: 1).shuffled(using: &random))
        // Shuffled, because JSON objects are unordered.
        case 18: return .set(.root, leaves: leaves(below: .root, depth: 3).shuffled(using: &random))
        default: return .delete(.root)
        }
    }

    private mutating func path() -> MetadataPath {
        (0..<Int.random(in: 1...4, using: &random)).reduce(MetadataPath.root) { path, _ in path.appending(key()) }
    }

    private mutating func leaves(below path: MetadataPath, depth: Int) -> [MetadataLeaf] {
        let keys = Set((0..<Int.random(in: 0...3, using: &random)).map { _ in key() })
        return keys.sorted()
            .flatMap { key -> [MetadataLeaf] in
                let child = path.appending(key)
                if depth > 0, Bool.random(using: &random) { return leaves(below: child, depth: depth - 1) }
                return [MetadataLeaf(path: child, value: value())]
            }
    }

    private mutating func key() -> String { Self.keys.randomElement(using: &random) ?? "a" }
    private mutating func value() -> String { ["1", "2", "", "ä\"\\\n\u{1}😀"].randomElement(using: &random) ?? "" }
}
