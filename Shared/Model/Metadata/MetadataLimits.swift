// SPDX-License-Identifier: Apache-2.0

/// How large the metadata of one conversation may be, as an operator has decided it.
///
/// A tree that is beyond a limit, since the limit was lowered or is newer than the tree, may still change in any way that does not let it grow.
public struct MetadataLimits: Hashable, Sendable {
    /// Values; nil: no limit.
    public var keys: Int?
    /// Bytes of all paths and values; nil: no limit.
    public var bytes: Int?
    /// Nil, the default: no limit.
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

    /// A patch would let the tree grow beyond ``keys``.
    public var tooManyKeys: Failure { .invalid("metadata", reason: "would have more than \(keys ?? 0) keys") }
    /// A patch would let the tree grow beyond ``bytes``.
    public var tooLarge: Failure { .invalid("metadata", reason: "would have more than \(bytes ?? 0) bytes of paths and values") }
}

extension MetadataLeaf {
    /// What it counts for in ``MetadataLimits/bytes``: the UTF-8 of its path and its value.
    public var bytes: Int { path.dotted.utf8.count + value.utf8.count }
}
