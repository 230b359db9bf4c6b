// SPDX-License-Identifier: Apache-2.0

/// Limits that belong to the model itself. Those an operator may change are settings of the services and only default to these.
public enum Limits {
    /// Bytes of UTF-8 of a user id (docs/conformance.md §3.4).
    public static let userIDBytes = 128
    /// Participants of a conversation, its creator included (docs/conformance.md §5.4).
    public static let participants = 250
    /// Bytes of UTF-8 of one metadata value (docs/conformance.md §5.1).
    public static let metadataValueBytes = 2048
    /// Nesting depth of metadata.
    public static let metadataDepth = 32
    /// Bytes of one dotted key path of metadata, which is what the database's index can hold (docs/architecture.md §5).
    public static let metadataPathBytes = 1024
    /// Bytes of all paths and values of a conversation's metadata (docs/architecture.md §5).
    public static let metadataTreeBytes = 1 << 20
    /// Bytes of paths and values of metadata in one request: what a call to a service can carry. A short request can hold many more, since a key counts in
    /// each of the paths that it is in.
    public static let metadataRequestBytes = 3 << 20
    /// Parts of one message, by default (docs/conformance.md §6.2).
    public static let partsPerMessage = 1000
    /// UTF-16 units of an inline part's text (docs/conformance.md §6.2); base64 bodies are held to the same number of decoded bytes.
    public static let inlinePartUnits = 2048
    /// Bytes of all inline parts of one message.
    public static let inlineMessageBytes = 256 * 1024
    /// Items on one page of a list of conversations or messages (docs/conformance.md §1.8).
    public static let pageSize = 100
}
