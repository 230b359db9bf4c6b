// SPDX-License-Identifier: Apache-2.0

/// What is shown of a user wherever the user is mentioned (docs/conformance.md §4.2).
public struct BasicIdentity: Hashable, Sendable {
    /// The user's `layer:///` id and URL are made from this.
    public var userID: UserID
    /// At most 128 Unicode scalars; nil until the application has told one.
    public var displayName: String?
    /// At most 1024 Unicode scalars, passed on as the application gave it; nil if it gave none.
    public var avatarURL: String?
    /// The id alone is enough for a user who takes part without ever having signed in (docs/conformance.md §4.3).
    public init(userID: UserID, displayName: String? = nil, avatarURL: String? = nil) {
        self.userID = userID
        self.displayName = displayName
        self.avatarURL = avatarURL
    }
}

/// What the application told about a user (docs/conformance.md §4.1).
public struct Identity: Hashable, Sendable {
    /// What is behind it, in the words of the wire (docs/conformance.md §4.1).
    public enum Kind: String, Sendable { case user, bot }
    /// What others are shown where the user is only mentioned.
    public var basic: BasicIdentity
    /// At most 128 Unicode scalars; nil if the application told none, as of all that follows.
    public var firstName: String?
    /// At most 128 Unicode scalars.
    public var lastName: String?
    /// At most 32 Unicode scalars, of whatever form.
    public var phoneNumber: String?
    /// At most 255 Unicode scalars, of whatever form.
    public var emailAddress: String?
    /// An RSA key of the user's, opaque to the server; at most 8192 Unicode scalars.
    public var publicKey: String?
    /// Both `type` and `identity_type` on the wire; no identity token can set it.
    public var kind: Kind
    /// At most 16 keys, no nesting.
    public var metadata: [String: String]
    /// What is left out is not known; the identity of a user never heard of is `basic` alone, with nothing but the user's id.
    public init(
        basic: BasicIdentity, firstName: String? = nil, lastName: String? = nil, phoneNumber: String? = nil, emailAddress: String? = nil,
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

/// A user's presence as others see it; `invisible` is only ever shown to its owner (docs/conformance.md §12.8).
public struct Presence: Hashable, Sendable {
    /// What can be shown, in the words of the wire; `auto` can only be asked for, and becomes one of these.
    public enum Status: String, Sendable, CaseIterable { case available, busy, away, offline, invisible }
    /// The best of the statuses of the user's connections, `offline` without any.
    public var status: Status
    /// When the user was last known to be `available`, `busy` or `away`; nil: never, or too long ago to be remembered.
    public var lastSeenAt: Timestamp?
    /// Takes the real status; show it to others only by way of ``forOthers``.
    public init(status: Status, lastSeenAt: Timestamp?) {
        self.status = status
        self.lastSeenAt = lastSeenAt
    }
    /// What all users but this one are shown.
    public var forOthers: Presence { status == .invisible ? Presence(status: .offline, lastSeenAt: lastSeenAt) : self }
}
