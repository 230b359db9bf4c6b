// SPDX-License-Identifier: Apache-2.0

/// What is shown of a user wherever he is mentioned (spec 4.2).
public struct BasicIdentity: Hashable, Sendable {
    public var userID: UserID
    public var displayName: String?
    public var avatarURL: String?
    public init(userID: UserID, displayName: String? = nil, avatarURL: String? = nil) {
        self.userID = userID
        self.displayName = displayName
        self.avatarURL = avatarURL
    }
}

/// Everything the application told about a user (spec 4.1).
public struct Identity: Hashable, Sendable {
    public enum Kind: String, Sendable { case user, bot }
    public var basic: BasicIdentity
    public var firstName: String?
    public var lastName: String?
    public var phoneNumber: String?
    public var emailAddress: String?
    public var publicKey: String?
    public var kind: Kind
    /// At most 16 keys, no nesting.
    public var metadata: [String: String]
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

/// A user's presence as others see it; `invisible` is only ever shown to its owner (spec 12.8).
public struct Presence: Hashable, Sendable {
    public enum Status: String, Sendable, CaseIterable { case available, busy, away, offline, invisible }
    public var status: Status
    public var lastSeenAt: Timestamp?
    public init(status: Status, lastSeenAt: Timestamp?) {
        self.status = status
        self.lastSeenAt = lastSeenAt
    }
    /// What everybody but the user himself is shown.
    public var forOthers: Presence { status == .invisible ? Presence(status: .offline, lastSeenAt: lastSeenAt) : self }
}
