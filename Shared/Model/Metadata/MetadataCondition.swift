// SPDX-License-Identifier: Apache-2.0

/// What a query asks of the metadata of conversations: one value, at a key path that the app has indexed.
public struct MetadataCondition: Hashable, Sendable {
    /// What is asked of the value.
    public enum Test: Hashable, Sendable {
        /// It is this text.
        case equals(String)
        /// It begins with this text.
        case hasPrefix(String)
        /// There is one.
        case exists
    }

    /// Where the value is.
    public var path: MetadataPath
    /// What is asked of it.
    public var test: Test

    /// The path must have been checked.
    public init(path: MetadataPath, test: Test) {
        self.path = path
        self.test = test
    }

    /// Bytes of a prefix, at most: of longer values, an index holds this much and a digest.
    public static let prefixBytes = 224
    /// Conversations that match are counted up to this number.
    public static let counted = 1_000
}

/// A key path that an app has named, by which its conversations can be found.
public struct MetadataIndex: Hashable, Sendable {
    /// The path.
    public var path: MetadataPath
    /// When the app named it.
    public var createdAt: Timestamp
    /// When all conversations that were there had been looked at; nil: they still are, and the index cannot be asked yet.
    public var readyAt: Timestamp?

    /// The path must have been checked.
    public init(path: MetadataPath, createdAt: Timestamp, readyAt: Timestamp?) {
        self.path = path
        self.createdAt = createdAt
        self.readyAt = readyAt
    }

    /// Key paths that an app can name: each makes writes of its conversations dearer.
    public static let most = 16
}
