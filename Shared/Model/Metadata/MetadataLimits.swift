// SPDX-License-Identifier: Apache-2.0

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
