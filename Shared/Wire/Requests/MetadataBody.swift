// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A parser for metadata in requests: nested objects with strings as leaves (docs/conformance.md §5.1).
enum MetadataBody {
    /// Returns the leaves of an object below `path`, or the single leaf of a string at `path`.
    /// - Parameter room: the remaining bytes of paths and values for the request.
    /// - Throws: ``Failure`` naming `metadata.<path>` of the first invalid value.
    static func leaves(of value: JSONValue, at path: MetadataPath, room: inout Int) throws(Failure) -> [MetadataLeaf] {
        var leaves: [MetadataLeaf] = []
        try collect(value, at: path, depth: path.keys.count, into: &leaves, room: &room)
        return leaves
    }

    static func tree(_ value: JSONValue) throws(Failure) -> MetadataTree {
        var room = Limits.metadataRequestBytes
        return MetadataTree(leaves: try leaves(of: value, at: .root, room: &room))
    }

    private static func collect(
        _ value: JSONValue, at path: MetadataPath, depth: Int, into leaves: inout [MetadataLeaf], room: inout Int
    ) throws(Failure) {
        switch value {
        case .string(let text):
            guard path != .root else { throw .invalid("metadata", reason: "must be an object") }
            guard text.utf8.count <= Limits.metadataValueBytes else {
                throw .invalid(name(of: path), reason: "is longer than \(Limits.metadataValueBytes) bytes")
            }
            // Strings from the JSON parser contain no NUL, but those of other callers may.
            guard !text.utf8.contains(0) else { throw .invalid(name(of: path), reason: "contains a NUL character") }
            let leaf = MetadataLeaf(path: path, value: text)
            room -= leaf.bytes
            guard room >= 0 else {
                throw Failure(
                    .invalidRequest,
                    "A request can have at most \(Limits.metadataRequestBytes) bytes of paths and values of metadata.")
            }
            leaves.append(leaf)
        case .object(let members):
            for member in members.unique {
                let below = try appending(member.name, to: path, depth: depth + 1)
                try collect(member.value, at: below, depth: depth + 1, into: &leaves, room: &room)
            }
        default:
            throw .invalid(
                name(of: path), reason: path == .root ? "must be an object" : "must be a string or an object")
        }
    }

    private static func appending(_ key: String, to path: MetadataPath, depth: Int) throws(Failure) -> MetadataPath {
        let whole = path.appending(key)
        guard whole.dotted.utf8.count <= Limits.metadataPathBytes else {
            throw .invalid(name(of: path), reason: "has a key path of more than \(Limits.metadataPathBytes) bytes")
        }
        guard !key.isEmpty else { throw .invalid(name(of: path) + ".", reason: "has an empty key") }
        guard key.utf8.allSatisfy(MetadataPath.isKeyByte) else {
            throw .invalid(
                name(of: path) + "." + PatchPath.escape(key),
                reason: "has a key with a character other than letters, digits, - and _")
        }
        // The keys above were already checked.
        if MetadataPath.reservedKeys.contains(key[...]) { try whole.checkSettable() }
        guard depth <= Limits.metadataDepth else {
            throw .invalid(name(of: whole), reason: "is nested deeper than \(Limits.metadataDepth) levels")
        }
        return whole
    }

    private static func name(of path: MetadataPath) -> String { path == .root ? "metadata" : "metadata.\(path.dotted)" }
}
