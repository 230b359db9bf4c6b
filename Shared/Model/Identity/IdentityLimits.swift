// SPDX-License-Identifier: Apache-2.0

/// The size limits of an identity (docs/conformance.md §4.1). Lengths are in Unicode scalars.
public enum IdentityLimits {
    /// The maximum length of each text of an identity, by its name on the wire.
    public static let texts: [String: Int] = [
        "display_name": 128, "avatar_url": 1024, "first_name": 128, "last_name": 128, "phone_number": 32,
        "email_address": 255, "public_key": 8192,
    ]
    /// The maximum number of metadata keys.
    public static let metadataKeys = 16
    /// The maximum length of a metadata key.
    public static let metadataKey = 128
    /// The maximum length of a metadata value.
    public static let metadataValue = 1024

    /// Returns true if a text is within the limit and can be stored. PostgreSQL's `text` cannot hold NUL.
    public static func fits(_ text: String, within limit: Int) -> Bool {
        // A text never has more scalars than bytes, so the scalars of most texts need not be counted.
        (text.utf8.count <= limit || text.unicodeScalars.count <= limit) && !text.utf8.contains(0)
    }
}
