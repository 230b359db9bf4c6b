// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The signed URL of rich content, valid for a limited time. Any client with the URL can fetch the content
/// (docs/conformance.md §8).
public struct ContentLocation: Hashable, Sendable {
    /// The signed URL; nil before the content was uploaded.
    public var downloadURL: String?
    /// The time at which ``downloadURL`` expires.
    public var expiration: Timestamp?
    /// Creates a location. Both values must be nil, or none.
    public init(downloadURL: String?, expiration: Timestamp?) {
        self.downloadURL = downloadURL
        self.expiration = expiration
    }
}
