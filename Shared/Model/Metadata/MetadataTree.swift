// SPDX-License-Identifier: Apache-2.0

/// A metadata value with its path: the unit of storage and of transport between the services.
public struct MetadataLeaf: Hashable, Sendable {
    /// The path from the root of the whole tree, even if a subtree is set. It is never the root itself.
    public var path: MetadataPath
    /// The value: at most ``Limits/metadataValueBytes`` bytes of UTF-8 without NUL; may be empty.
    public var value: String
    /// Creates a leaf without validation: input of clients is validated where it is read.
    public init(path: MetadataPath, value: String) {
        self.path = path
        self.value = value
    }
}

/// The value of a key in a metadata tree.
public enum MetadataValue: Hashable, Sendable {
    case text(String)
    case tree(MetadataTree)
}

/// A nested structure of strings. An empty subtree is equivalent to none and never appears.
public struct MetadataTree: Hashable, Sendable {
    /// The values by their first key, unordered. See ``leaves`` for an ordered list.
    public private(set) var children: [String: MetadataValue]
    /// Creates an empty tree, which is `{}` on the wire, never null (docs/conformance.md §5.1).
    public init() { children = [:] }
    /// Creates the tree of `leaves`. If a leaf's path is a prefix of another's, the longer path wins; storage never
    /// holds such a pair.
    public init(leaves: some Sequence<MetadataLeaf>) {
        children = [:]
        for leaf in leaves { insert(leaf.value, at: leaf.path.keys[...]) }
    }
    /// True if the tree contains no value.
    public var isEmpty: Bool { children.isEmpty }

    /// All values with their paths, in byte order of the paths' keys.
    public var leaves: [MetadataLeaf] {
        var out: [MetadataLeaf] = []
        collectLeaves(below: .root, into: &out)
        return out
    }

    /// Returns the value at `path`, or nil.
    public subscript(path: MetadataPath) -> MetadataValue? {
        var node = MetadataValue.tree(self)
        for key in path.keys {
            guard case .tree(let tree) = node, let next = tree.children[String(key)] else { return nil }
            node = next
        }
        return node
    }

    private mutating func insert(_ value: String, at keys: ArraySlice<Substring>) {
        guard let first = keys.first else { return }
        let key = String(first)
        if keys.count == 1 {
            if case .tree = children[key] { return }
            children[key] = .text(value)
        } else {
            var child: MetadataTree
            if case .tree(let tree) = children[key] { child = tree } else { child = MetadataTree() }
            children[key] = nil
            child.insert(value, at: keys.dropFirst())
            children[key] = .tree(child)
        }
    }

    private func collectLeaves(below path: MetadataPath, into out: inout [MetadataLeaf]) {
        for (key, value) in children.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            switch value {
            case .text(let text): out.append(MetadataLeaf(path: path.appending(key), value: text))
            case .tree(let tree): tree.collectLeaves(below: path.appending(key), into: &out)
            }
        }
    }
}

/// An operation of a client's patch. `set` replaces any values at the path, above it and below it.
public enum MetadataOperation: Hashable, Sendable {
    /// Sets one value. A string has a single leaf with the path itself; the leaves of an object are below the path. An
    /// empty list of leaves is equivalent to `delete`. The root path replaces the whole tree.
    case set(MetadataPath, leaves: [MetadataLeaf])
    case delete(MetadataPath)

    /// The path to which the operation applies. The root means the whole tree.
    public var path: MetadataPath {
        switch self {
        case .set(let path, _), .delete(let path): path
        }
    }
}

/// The effect of one step of a committed patch: a leaf with a new value, or a path whose values were deleted.
///
/// A change lists its effects in the order in which a client can apply them: deletions first, then sets by path.
public struct MetadataEffect: Hashable, Sendable {
    /// The path of the leaf that was set, or the shortest path below which no value remains.
    public var path: MetadataPath
    /// The new value; nil: deleted.
    public var value: String?
    /// Creates an effect of an actual change. Setting an equal value has no effect and is not announced.
    public init(path: MetadataPath, value: String?) {
        self.path = path
        self.value = value
    }
}

extension MetadataTree {
    /// Applies the effects of a change, as a client does.
    public mutating func applyEffects(_ effects: some Sequence<MetadataEffect>) {
        for effect in effects { setLeaf(effect.value, at: effect.path.keys[...]) }
    }

    private mutating func setLeaf(_ value: String?, at keys: ArraySlice<Substring>) {
        guard let first = keys.first else {
            if value == nil { children = [:] }
            return
        }
        let key = String(first)
        if keys.count == 1 {
            children[key] = value.map { .text($0) }
            return
        }
        var child: MetadataTree
        if case .tree(let tree) = children[key] { child = tree } else { child = MetadataTree() }
        if value == nil, child.isEmpty { return }
        children[key] = nil
        child.setLeaf(value, at: keys.dropFirst())
        if !child.isEmpty { children[key] = .tree(child) }
    }
}
