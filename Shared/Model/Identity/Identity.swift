// SPDX-License-Identifier: Apache-2.0

/// The part of an identity that accompanies every mention of a user (docs/conformance.md §4.2).
public struct BasicIdentity: Hashable, Sendable {
    /// The user's id, from which the `layer:///` id and the URL derive.
    public var userID: UserID
    /// The display name: at most 128 Unicode scalars; nil if the application has not set one.
    public var displayName: String?
    /// The avatar's URL as the application set it: at most 1024 Unicode scalars; nil if it set none.
    public var avatarURL: String?
    /// Creates an identity. The id alone suffices for a participant who has never signed in (docs/conformance.md §4.3).
    public init(userID: UserID, displayName: String? = nil, avatarURL: String? = nil) {
        self.userID = userID
        self.displayName = displayName
        self.avatarURL = avatarURL
    }
}

/// A user's full identity, set by the application (docs/conformance.md §4.1).
public struct Identity: Hashable, Sendable {
    /// The kind of a user, in the words of the wire (docs/conformance.md §4.1).
    public enum Kind: String, Sendable { case user, bot }
    /// The part that is shown where the user is only mentioned.
    public var basic: BasicIdentity
    /// The first name: at most 128 Unicode scalars; nil if the application set none. nil has this meaning in all
    /// properties below.
    public var firstName: String?
    /// The last name: at most 128 Unicode scalars.
    public var lastName: String?
    /// The phone number: at most 32 Unicode scalars, in any format.
    public var phoneNumber: String?
    /// The e-mail address: at most 255 Unicode scalars, in any format.
    public var emailAddress: String?
    /// The user's RSA key, opaque to the server: at most 8192 Unicode scalars.
    public var publicKey: String?
    /// The value of both `type` and `identity_type` on the wire. Identity tokens cannot set it.
    public var kind: Kind
    /// Application-defined values: at most 16 keys, not nested.
    public var metadata: [String: String]
    /// Creates an identity. Omitted values are unknown; an unknown user's identity consists of the user id only.
    public init(
        basic: BasicIdentity, firstName: String? = nil, lastName: String? = nil, phoneNumber: String? = nil,
        emailAddress: String? = nil,
        publicKey: String? = nil, kind: Kind = .user, metadata: [String: String] = [:]
    ) {
        self.basic = basic
        self.firstName = firstName
        self.lastName = lastName
        self.phoneNumber = phoneNumber
        self.emailAddress = emailAddress
        self.publicKey = publicKey
        self.kind = kind
        self.metadata = metadata
    }
}

/// A user's presence. The status `invisible` is shown only to the user (docs/conformance.md §12.8).
public struct Presence: Hashable, Sendable {
    /// The statuses that can be shown, in the words of the wire. A client can also request `auto`, which becomes one of
    /// these.
    public enum Status: String, Sendable, CaseIterable { case available, busy, away, offline, invisible }
    /// The best status among the user's connections, or `offline` without connections.
    public var status: Status
    /// The last time the user was known to be `available`, `busy` or `away`; nil: never, or too long ago to be
    /// recorded.
    public var lastSeenAt: Timestamp?
    /// Creates a presence with the real status. Use ``forOthers`` to show it to other users.
    public init(status: Status, lastSeenAt: Timestamp?) {
        self.status = status
        self.lastSeenAt = lastSeenAt
    }
    /// The presence that is shown to other users.
    public var forOthers: Presence { status == .invisible ? Presence(status: .offline, lastSeenAt: lastSeenAt) : self }
}

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
