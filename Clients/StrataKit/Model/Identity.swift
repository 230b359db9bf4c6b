// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A user as other users see them. The operator defines identities; StrataKit displays them and never changes them.
public struct Identity: Hashable, Sendable, Identifiable {
    /// The user's id; nil for a sender that is not a user.
    public var userID: UserID?
    /// The display name; nil if the operator did not set it.
    public var displayName: String?
    /// The first name; nil if the operator did not set it.
    public var firstName: String?
    /// The last name; nil if the operator did not set it.
    public var lastName: String?
    /// The email address; nil if the operator did not set it.
    public var emailAddress: String?
    /// The phone number; nil if the operator did not set it.
    public var phoneNumber: String?
    /// The URL of a picture; nil if the operator did not set it.
    public var avatarImageURL: String?
    /// An RSA key; nil if the operator did not set it. Neither the server nor StrataKit interprets it.
    public var publicKey: String?
    /// The strings that the operator attached to the identity.
    public var metadata: [String: String] = [:]
    /// A Boolean value that indicates whether this user receives changes of the identity. True if both share a
    /// conversation, or after ``StrataClient/follow(_:)``.
    public var isFollowed = false
    /// A Boolean value that indicates whether this user has blocked the identity with ``StrataClient/block(_:)``.
    public var isBlocked = false
    /// The last known presence status; nil if unknown. The user's own status is `offline` while there is no connection.
    public var presenceStatus: PresenceStatus?
    /// The time at which the user was last online; nil if unknown. It changes when the user goes offline.
    public var lastSeenAt: Date?

    /// The id in the form `layer:///identities/…`; empty for a sender that is not a user.
    public var id: String { userID?.layerID ?? "" }

    /// Creates an identity of which only the user id is known.
    public init(userID: UserID?) { self.userID = userID }
}

/// The presence status of a user, as chosen by the user.
public enum PresenceStatus: String, Hashable, Sendable, CaseIterable {
    case offline, available, busy, away
    /// Appears as `offline` to other users.
    case invisible
}

/// The presence statuses that a user can choose.
public enum PresenceChoice: String, Hashable, Sendable, CaseIterable {
    /// The user's last choice on any device; `available` before the first choice.
    case auto
    case offline, available, busy, away
    /// Appears as `offline` to other users, and as `invisible` to the user.
    case invisible
}
