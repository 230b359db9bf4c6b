// SPDX-License-Identifier: Apache-2.0

import Contracts
import Model

/// Checks the operations of a patch once more before they reach the database: a mistake there would cost a whole group of strangers' statements a
/// second run, and a gateway of another version may know other rules.
struct PatchValidation: Sendable {
    /// Operations and values of one patch, at most. Locks are held while a patch is carried out.
    let maximumItems: Int

    /// The operations as the model has them.
    /// - Throws: ``Model/Failure`` naming the property (`metadata.a.b`) at fault.
    func operations(_ protos: [ProtoMetadataOperation]) throws(Failure) -> [MetadataOperation] {
        let items = protos.reduce(0) { $0 + 1 + $1.set.leaves.count }
        guard items <= maximumItems else {
            throw Failure(.invalidRequest, "A patch can have at most \(maximumItems) operations and values.")
        }
        var operations: [MetadataOperation] = []
        operations.reserveCapacity(protos.count)
        for proto in protos { operations.append(try operation(MetadataOperation(proto))) }
        return operations
    }

    private func operation(_ operation: MetadataOperation) throws(Failure) -> MetadataOperation {
        if operation.path != .root { _ = try MetadataPath(validating: operation.path.dotted) }
        guard case .set(let path, let leaves) = operation else { return operation }
        var paths: Set<String> = []
        paths.reserveCapacity(leaves.count)
        for leaf in leaves {
            try check(leaf, below: path)
            guard paths.insert(leaf.path.dotted).inserted else { throw .invalid(property(leaf.path), "is set twice by one operation") }
        }
        if leaves.count > 1 { try checkPrefixes(paths) }
        return operation
    }

    private func check(_ leaf: MetadataLeaf, below path: MetadataPath) throws(Failure) {
        let dotted = leaf.path.dotted
        _ = try MetadataPath(validating: dotted)
        guard path == .root || leaf.path == path || dotted.utf8.starts(with: "\(path.dotted).".utf8) else {
            throw .invalid(property(path), "has a value that lies elsewhere")
        }
        let value = leaf.value.utf8
        guard value.count <= Limits.metadataValueBytes else {
            throw .invalid(property(leaf.path), "is longer than \(Limits.metadataValueBytes) bytes")
        }
        guard !value.contains(0) else { throw .invalid(property(leaf.path), "contains a NUL character") }
    }

    /// No path may be the beginning of another one: one place cannot hold a value and a tree.
    private func checkPrefixes(_ paths: Set<String>) throws(Failure) {
        for path in paths {
            var end = path.utf8.startIndex
            while let dot = path.utf8[end...].firstIndex(of: UInt8(ascii: ".")) {
                guard !paths.contains(String(path[..<dot])) else {
                    throw .invalid("metadata.\(path[..<dot])", "is given a value and a tree")
                }
                end = path.utf8.index(after: dot)
            }
        }
    }

    private func property(_ path: MetadataPath) -> String { path == .root ? "metadata" : "metadata.\(path.dotted)" }
}
