// SPDX-License-Identifier: Apache-2.0

/// A condition on the metadata of conversations: one value, at a key path that the app has indexed.
public struct MetadataCondition: Hashable, Sendable {
    /// A test of a metadata value.
    public enum Test: Hashable, Sendable {
        /// The value equals this text.
        case equals(String)
        /// The value begins with this text.
        case hasPrefix(String)
        /// The value exists.
        case exists
    }

    /// The indexed key path.
    public var path: MetadataPath
    /// The test of the value at ``path``.
    public var test: Test

    /// Creates a condition. `path` must be valid.
    public init(path: MetadataPath, test: Test) {
        self.path = path
        self.test = test
    }

    /// The maximum length of a prefix, in bytes. For longer values, an index stores this prefix and a digest.
    public static let prefixBytes = 224
    /// The maximum to which matching conversations are counted.
    public static let countLimit = 1_000
}

/// A key path that an app has indexed, so that conversations can be queried by it.
public struct MetadataIndex: Hashable, Sendable {
    /// The indexed path.
    public var path: MetadataPath
    /// The time at which the app created the index.
    public var createdAt: Timestamp
    /// The time at which all existing conversations were indexed; nil while indexing is in progress and the index
    /// cannot be queried.
    public var readyAt: Timestamp?

    /// Creates an index. `path` must be valid.
    public init(path: MetadataPath, createdAt: Timestamp, readyAt: Timestamp?) {
        self.path = path
        self.createdAt = createdAt
        self.readyAt = readyAt
    }

    /// The maximum number of indexes of an app. Each one makes writes of its conversations more expensive.
    public static let maximumPerApp = 16
}
