// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A user as others see them. Identities come from the operator: StrataKit shows them and never changes them.
public struct Identity: Hashable, Sendable, Identifiable {
    /// The user.
    public var userID: UserID?
    /// Nil if the operator gave none.
    public var displayName: String?
    /// Nil if the operator gave none.
    public var firstName: String?
    /// Nil if the operator gave none.
    public var lastName: String?
    /// Nil if the operator gave none.
    public var emailAddress: String?
    /// Nil if the operator gave none.
    public var phoneNumber: String?
    /// The address of a picture; nil if the operator gave none.
    public var avatarImageURL: String?
    /// An RSA key, which neither the server nor StrataKit looks into; nil if the operator gave none.
    public var publicKey: String?
    /// Strings that the operator attached.
    public var metadata: [String: String] = [:]
    /// Whether changes of this identity are told to this user: because both are in a conversation, or ``StrataClient/follow(_:)`` was called.
    public var isFollowed = false
    /// Whether this user has blocked that user, by ``StrataClient/block(_:)``.
    public var isBlocked = false
    /// The last known presence; nil if none is known. The user's own is `offline` while there is no connection.
    public var presenceStatus: PresenceStatus?
    /// When the user was last online; it changes when they go offline. Nil if that is not known.
    public var lastSeenAt: Date?

    /// `layer:///identities/…`; a sender that is no user has the empty id.
    public var id: String { userID?.layerID ?? "" }

    /// An identity of which only the user id is known.
    public init(userID: UserID?) { self.userID = userID }
}

/// Whether a user is online, as they have said themselves.
public enum PresenceStatus: String, Hashable, Sendable, CaseIterable {
    case offline, available, busy, away
    /// Looks `offline` to others.
    case invisible
}

/// The presence that a user can choose.
public enum PresenceChoice: String, Hashable, Sendable, CaseIterable {
    /// The user's last choice on any device; `available` before the first choice.
    case auto
    case offline, available, busy, away
    /// Looks `offline` to others, and `invisible` to the user.
    case invisible
}
