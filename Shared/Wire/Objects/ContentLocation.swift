// SPDX-License-Identifier: Apache-2.0
public import Model

/// Where rich content can be fetched for a while, by anybody who has the URL (spec 8).
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
