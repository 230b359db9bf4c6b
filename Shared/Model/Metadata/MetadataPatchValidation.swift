// SPDX-License-Identifier: Apache-2.0

/// Checks metadata once more before it reaches the database, whichever service it came to: a mistake there would cost a whole group of strangers'
/// statements a second run, and a gateway of another version may know other rules.
public struct MetadataPatchValidation: Sendable {
    /// Operations and values of one patch, at most. Locks are held while a patch is carried out.
    public let maximumItems: Int

    /// The number of items that is the default of every service: carried out, so many take about a second.
    public static let defaultMaximumItems = 20_000

    /// Checks with an operator's number of items.
    public init(maximumItems: Int = defaultMaximumItems) { self.maximumItems = maximumItems }

    /// Checks the operations of a patch.
    /// - Throws: ``Failure`` naming the property (`metadata.a.b`) at fault.
    public func checkOperations(_ operations: [MetadataOperation]) throws(Failure) {
        guard operations.itemCount <= maximumItems else {
            throw Failure(.invalidRequest, "A patch can have at most \(maximumItems) operations and values.")
        }
        for operation in operations { try checkOperation(operation) }
    }

    /// Checks the values of a conversation's first tree, however many there are.
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
            guard paths.insert(leaf.path.dotted).inserted else { throw .invalid(property(leaf.path), reason: "is set twice by one operation") }
        }
        if leaves.count > 1 { try checkPrefixes(paths) }
    }

    private func checkLeaf(_ leaf: MetadataLeaf, below path: MetadataPath) throws(Failure) {
        let dotted = leaf.path.dotted
        _ = try MetadataPath(validating: dotted)
        guard path == .root || leaf.path == path || dotted.utf8.starts(with: "\(path.dotted).".utf8) else {
            throw .invalid(property(path), reason: "has a value that lies elsewhere")
        }
        try leaf.path.checkSettable()
        let value = leaf.value.utf8
        guard value.count <= Limits.metadataValueBytes else {
            throw .invalid(property(leaf.path), reason: "is longer than \(Limits.metadataValueBytes) bytes")
        }
        guard !value.contains(0) else { throw .invalid(property(leaf.path), reason: "contains a NUL character") }
    }

    /// No path may be the beginning of another one: one place cannot hold a value and a tree.
    private func checkPrefixes(_ paths: Set<String>) throws(Failure) {
        for path in paths {
            var end = path.utf8.startIndex
            while let dot = path.utf8[end...].firstIndex(of: UInt8(ascii: ".")) {
                guard !paths.contains(String(path[..<dot])) else {
                    throw .invalid("metadata.\(path[..<dot])", reason: "is given a value and a tree")
                }
                end = path.utf8.index(after: dot)
            }
        }
    }

    private func property(_ path: MetadataPath) -> String { path == .root ? "metadata" : "metadata.\(path.dotted)" }
}

extension Collection<MetadataOperation> {
    /// Operations and the values in them, which is what a patch is measured by.
    public var itemCount: Int { reduce(0) { $0 + 1 + $1.leaves.count } }

    /// Whether a patch of these operations is so much work that others should not have to wait in one transaction with it.
    public var isLarge: Bool {
        contains { $0.path == .root } || itemCount > largeItems
            || reduce(0) { $0 + $1.path.dotted.utf8.count + $1.leaves.reduce(0) { $0 + $1.bytes } } > largeBytes
    }
}

extension Collection<MetadataLeaf> {
    /// Whether a conversation with these values is so much work to create that others should not have to wait for it.
    public var isLarge: Bool { count > largeItems || reduce(0) { $0 + $1.bytes } > largeBytes }
}

/// Operations and values, and their bytes, that are handled together with those of others.
private let (largeItems, largeBytes) = (64, 16 << 10)

extension MetadataOperation {
    /// The values that it sets; none for a deletion.
    public var leaves: [MetadataLeaf] {
        if case .set(_, let leaves) = self { leaves } else { [] }
    }
}
