// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Where rich content can be fetched for a while, by any client that has the URL (docs/conformance.md §8).
public struct ContentLocation: Hashable, Sendable {
    /// Signed; nil before the content was uploaded.
    public var downloadURL: String?
    /// When ``downloadURL`` stops working.
    public var expiration: Timestamp?
    /// Both, or neither.
    public init(downloadURL: String?, expiration: Timestamp?) {
        self.downloadURL = downloadURL
        self.expiration = expiration
    }
}
