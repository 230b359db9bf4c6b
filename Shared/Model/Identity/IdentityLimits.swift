// SPDX-License-Identifier: Apache-2.0

/// How much an identity can hold (docs/conformance.md §4.1). Lengths are Unicode scalars.
public enum IdentityLimits {
    /// Of the texts of an identity, by their names on the wire.
    public static let texts: [String: Int] = [
        "display_name": 128, "avatar_url": 1024, "first_name": 128, "last_name": 128, "phone_number": 32, "email_address": 255, "public_key": 8192,
    ]
    /// Keys of its metadata.
    public static let metadataKeys = 16
    /// Of a key of its metadata.
    public static let metadataKey = 128
    /// Of a value of its metadata.
    public static let metadataValue = 1024

    /// Whether a text is not too long, and can be stored: PostgreSQL's text cannot hold NUL.
    public static func fits(_ text: String, within limit: Int) -> Bool {
        // No text has fewer bytes than scalars, so that most need not be counted.
        (text.utf8.count <= limit || text.unicodeScalars.count <= limit) && !text.utf8.contains(0)
    }
}
