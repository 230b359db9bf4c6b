// SPDX-License-Identifier: Apache-2.0

/// A path to a value in a metadata tree: one or more keys of letters, digits, `-` and `_` (docs/architecture.md §5).
///
/// Storage and the wire join the keys with dots. Keys cannot contain dots, so no escaping is necessary.
public struct MetadataPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The dotted path, for example `trip.city`; empty for the root.
    public let dotted: String

    /// The path of the whole tree.
    public static let root = MetadataPath(trusted: "")
    /// Creates a path from validated text, for example text read from our own database.
    public init(trusted dotted: String) { self.dotted = dotted }

    /// Validates a dotted path without the leading `metadata.`.
    /// - Throws: ``Failure`` naming `metadata.<path>` if a key is empty or has an invalid character, or the path is too
    ///   deep or too long.
    public init(validating dotted: some StringProtocol) throws(Failure) {
        let utf8 = dotted.utf8
        guard utf8.count <= Limits.metadataPathBytes else {
            throw .invalid("metadata", reason: "has a key path of more than \(Limits.metadataPathBytes) bytes")
        }
        var depth = 1
        var keyLength = 0
        for byte in utf8 {
            if byte == UInt8(ascii: ".") {
                guard keyLength > 0 else {
                    throw .invalid("metadata.\(dotted)", reason: "has an empty key in its path")
                }
                depth += 1
                keyLength = 0
            } else {
                guard MetadataPath.isKeyByte(byte) else {
                    throw .invalid(
                        "metadata.\(dotted)", reason: "has a key with a character other than letters, digits, - and _")
                }
                keyLength += 1
            }
        }
        guard keyLength > 0 else { throw .invalid("metadata.\(dotted)", reason: "has an empty key in its path") }
        guard depth <= Limits.metadataDepth else {
            throw .invalid("metadata.\(dotted)", reason: "is nested deeper than \(Limits.metadataDepth) levels")
        }
        self.dotted = String(dotted)
    }

    /// Keys that clients may not set. A JavaScript client that walks a path through objects would reach the shared
    /// prototype by them. Keys stored before this rule existed can be read and deleted.
    public static let reservedKeys: Set<Substring> = ["__proto__", "constructor", "prototype"]

    /// Checks that the path contains no reserved key, so that a value may be set.
    /// - Throws: ``Failure`` naming `metadata.<path>`.
    public func checkSettable() throws(Failure) {
        guard !keys.contains(where: { MetadataPath.reservedKeys.contains($0) }) else {
            throw .invalid(
                "metadata.\(dotted)", reason: "has a key that is reserved: __proto__, constructor or prototype")
        }
    }

    /// Returns the path of `key` below this path. `key` must be valid.
    public func appending(_ key: some StringProtocol) -> MetadataPath {
        MetadataPath(trusted: dotted.isEmpty ? String(key) : "\(dotted).\(key)")
    }
    /// The keys, beginning at the root.
    public var keys: [Substring] {
        dotted.isEmpty ? [] : dotted.split(separator: ".", omittingEmptySubsequences: false)
    }
    /// The dotted path, without the `metadata.` that precedes it on the wire.
    public var description: String { dotted }
    /// Compares bytes, in the order of the database's C collation.
    public static func < (a: MetadataPath, b: MetadataPath) -> Bool {
        a.dotted.utf8.lexicographicallyPrecedes(b.dotted.utf8)
    }

    /// Returns true if `byte` is allowed in a key.
    @inline(__always)
    public static func isKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
