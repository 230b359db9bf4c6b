// SPDX-License-Identifier: Apache-2.0

/// One value with its path: how metadata is stored and how a tree travels between the services.
public struct MetadataLeaf: Hashable, Sendable {
    /// From the root of the whole tree, also where a subtree is set; never the root itself.
    public var path: MetadataPath
    /// At most ``Limits/metadataValueBytes`` bytes of UTF-8 without a NUL; may be empty.
    public var value: String
    /// Checks nothing: what clients send is checked where it is read.
    public init(path: MetadataPath, value: String) {
        self.path = path
        self.value = value
    }
}

/// What a key of a metadata tree holds.
public enum MetadataValue: Hashable, Sendable {
    case text(String)
    case tree(MetadataTree)
}

/// A nested structure of strings. A subtree without a leaf is the same as none, and never appears.
public struct MetadataTree: Hashable, Sendable {
    /// By their first key, in no order; see ``leaves`` for one.
    public private(set) var children: [String: MetadataValue]
    /// The tree of a conversation without metadata: `{}` on the wire, never null (docs/conformance.md §5.1).
    public init() { children = [:] }
    /// Builds the tree of `leaves`. Should one leaf's path be a prefix of another's, the longer one wins; storage never holds such a pair.
    public init(leaves: some Sequence<MetadataLeaf>) {
        children = [:]
        for leaf in leaves { insert(leaf.value, at: leaf.path.keys[...]) }
    }
    /// Whether there is no value anywhere in it.
    public var isEmpty: Bool { children.isEmpty }

    /// All values with their paths, in byte order of the paths' keys.
    public var leaves: [MetadataLeaf] {
        var out: [MetadataLeaf] = []
        collectLeaves(below: .root, into: &out)
        return out
    }

    /// The value at `path`, or nil.
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

/// One operation of a patch, as a client asked for it. `set` replaces whatever was at the path, or above or below it.
public enum MetadataOperation: Hashable, Sendable {
    /// Sets one value; an empty list of leaves is the same as `delete`. For a value that is a string the only leaf has the path itself;
    /// for an object the leaves lie below it. The root path replaces the whole tree.
    case set(MetadataPath, leaves: [MetadataLeaf])
    case delete(MetadataPath)

    /// Where it takes effect; the root stands for the whole tree.
    public var path: MetadataPath {
        switch self {
        case .set(let path, _), .delete(let path): path
        }
    }
}

/// What one step of a committed patch did: a leaf that has a new value, or a path below which nothing is left.
///
/// The list of a change is in an order in which a client can apply it: deletions first, then sets by path.
public struct MetadataEffect: Hashable, Sendable {
    /// Of the leaf that was set, or the shortest path below which the deletion left nothing.
    public var path: MetadataPath
    /// Nil: deleted.
    public var value: String?
    /// Stands for something that did change: setting what was there already has no effect, and is not announced.
    public init(path: MetadataPath, value: String?) {
        self.path = path
        self.value = value
    }
}

extension MetadataTree {
    /// Applies what a change says, as a client does.
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
