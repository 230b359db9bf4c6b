// SPDX-License-Identifier: Apache-2.0

/// The limits of the model. Limits that an operator may change are settings of the services and only default to these.
public enum Limits {
    /// The maximum length of a user id, in bytes of UTF-8 (docs/conformance.md §3.4).
    public static let userIDBytes = 128
    /// The maximum number of participants of a conversation, its creator included (docs/conformance.md §5.4).
    public static let participants = 250
    /// The maximum length of a metadata value, in bytes of UTF-8 (docs/conformance.md §5.1).
    public static let metadataValueBytes = 2048
    /// The maximum nesting depth of metadata.
    public static let metadataDepth = 32
    /// The maximum length of a dotted key path of metadata, in bytes. It is bounded by the database's index
    /// (docs/architecture.md §5).
    public static let metadataPathBytes = 1024
    /// The maximum size of a conversation's metadata: bytes of all paths and values (docs/architecture.md §5).
    public static let metadataTreeBytes = 1 << 20
    /// The maximum size of metadata in one request: bytes of paths and values, bounded by the size of a call to a
    /// service. A short request can exceed it, because a key counts in each path that contains it.
    public static let metadataRequestBytes = 3 << 20
    /// The default maximum number of parts of a message (docs/conformance.md §6.2).
    public static let partsPerMessage = 1000
    /// The maximum length of an inline part's text, in UTF-16 units (docs/conformance.md §6.2). Base64 bodies have the
    /// same limit in decoded bytes.
    public static let inlinePartUnits = 2048
    /// The maximum size of all inline parts of a message, in bytes.
    public static let inlineMessageBytes = 256 * 1024
    /// The maximum number of items on a page of a list of conversations or messages (docs/conformance.md §1.8).
    public static let pageSize = 100
}
