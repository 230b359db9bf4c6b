// SPDX-License-Identifier: Apache-2.0

/// A check of metadata in the service, before it reaches the database. An invalid value would make the database run a
/// whole group of unrelated statements twice. A gateway of another version may apply different rules.
public struct MetadataPatchValidation: Sendable {
    /// The maximum number of operations and values in one patch. Locks are held while a patch is carried out.
    public let maximumItems: Int

    /// The default number of items in every service. A patch of this size takes about one second.
    public static let defaultMaximumItems = 20_000

    /// Creates a check with an operator's maximum.
    public init(maximumItems: Int = defaultMaximumItems) { self.maximumItems = maximumItems }

    /// Checks the operations of a patch.
    /// - Throws: ``Failure`` naming the property (`metadata.a.b`) at fault.
    public func checkOperations(_ operations: [MetadataOperation]) throws(Failure) {
        guard operations.itemCount <= maximumItems else {
            throw Failure(.invalidRequest, "A patch can have at most \(maximumItems) operations and values.")
        }
        for operation in operations { try checkOperation(operation) }
    }

    /// Checks the values of a conversation's first tree, without limiting their number.
    /// - Throws: ``Failure`` naming the property (`metadata.a.b`) at fault.
    public func checkTree(_ leaves: [MetadataLeaf]) throws(Failure) { try checkOperation(.set(.root, leaves: leaves)) }

    private func checkOperation(_ operation: MetadataOperation) throws(Failure) {
        if operation.path != .root { _ = try MetadataPath(validating: operation.path.dotted) }
        guard case .set(let path, let leaves) = operation else { return }
        try path.checkSettable()
        var paths: Set<String> = []
        paths.reserveCapacity(leaves.count)
        for leaf in leaves {
            try checkLeaf(leaf, below: path)
            guard paths.insert(leaf.path.dotted).inserted else {
                throw .invalid(property(leaf.path), reason: "is set twice by one operation")
            }
        }
        if leaves.count > 1 { try checkPrefixes(paths) }
    }

    private func checkLeaf(_ leaf: MetadataLeaf, below path: MetadataPath) throws(Failure) {
        let dotted = leaf.path.dotted
        _ = try MetadataPath(validating: dotted)
        guard path == .root || leaf.path == path || dotted.utf8.starts(with: "\(path.dotted).".utf8) else {
            throw .invalid(property(path), reason: "has a value outside of its path")
        }
        try leaf.path.checkSettable()
        let value = leaf.value.utf8
        guard value.count <= Limits.metadataValueBytes else {
            throw .invalid(property(leaf.path), reason: "is longer than \(Limits.metadataValueBytes) bytes")
        }
        guard !value.contains(0) else { throw .invalid(property(leaf.path), reason: "contains a NUL character") }
    }

    /// Throws if a path is a prefix of another one, because one path cannot hold both a value and a tree.
    private func checkPrefixes(_ paths: Set<String>) throws(Failure) {
        for path in paths {
            var end = path.utf8.startIndex
            while let dot = path.utf8[end...].firstIndex(of: UInt8(ascii: ".")) {
                guard !paths.contains(String(path[..<dot])) else {
                    throw .invalid("metadata.\(path[..<dot])", reason: "is set to both a value and a tree")
                }
                end = path.utf8.index(after: dot)
            }
        }
    }

    private func property(_ path: MetadataPath) -> String { path == .root ? "metadata" : "metadata.\(path.dotted)" }
}

extension Collection<MetadataOperation> {
    /// The number of operations and of values in them, which determines the size of a patch.
    public var itemCount: Int { reduce(0) { $0 + 1 + $1.leaves.count } }

    /// True if a patch of these operations is too large to share a transaction with other statements.
    public var isLarge: Bool {
        contains { $0.path == .root } || itemCount > largeItems
            || reduce(0) { $0 + $1.path.dotted.utf8.count + $1.leaves.reduce(0) { $0 + $1.bytes } } > largeBytes
    }
}

extension Collection<MetadataLeaf> {
    /// True if creating a conversation with these values is too large to share a transaction with other statements.
    public var isLarge: Bool { count > largeItems || reduce(0) { $0 + $1.bytes } > largeBytes }
}

/// The maximum items (operations and values) and bytes of a write that shares a transaction with others.
private let (largeItems, largeBytes) = (64, 16 << 10)

extension MetadataOperation {
    /// The values that the operation sets; empty for a deletion.
    public var leaves: [MetadataLeaf] {
        if case .set(_, let leaves) = self { leaves } else { [] }
    }
}

/// The operator's limits on the metadata of one conversation.
///
/// A tree can exceed a limit that was lowered or introduced later. Such a tree may still change, but not grow.
public struct MetadataLimits: Hashable, Sendable {
    /// The maximum number of values; nil: no limit.
    public var keys: Int?
    /// The maximum size in bytes of all paths and values; nil: no limit.
    public var bytes: Int?
    /// Creates limits. Nil, the default, means no limit.
    public init(keys: Int? = nil, bytes: Int? = nil) {
        self.keys = keys
        self.bytes = bytes
    }

    /// Checks the first tree of a conversation.
    /// - Throws: ``Failure`` naming `metadata`.
    public func checkLimits(of leaves: [MetadataLeaf]) throws(Failure) {
        if let keys, leaves.count > keys { throw tooManyKeys }
        if let bytes, leaves.reduce(0, { $0 + $1.bytes }) > bytes { throw tooLarge }
    }

    /// The failure of a patch that would let the tree grow beyond ``keys``.
    public var tooManyKeys: Failure { .invalid("metadata", reason: "would have more than \(keys ?? 0) keys") }
    /// The failure of a patch that would let the tree grow beyond ``bytes``.
    public var tooLarge: Failure {
        .invalid("metadata", reason: "would have more than \(bytes ?? 0) bytes of paths and values")
    }
}

extension MetadataLeaf {
    /// The size of the leaf with regard to ``MetadataLimits/bytes``: the UTF-8 bytes of its path and value.
    public var bytes: Int { path.dotted.utf8.count + value.utf8.count }
}
