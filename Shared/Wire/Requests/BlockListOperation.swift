// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// An operation on the list of users that a user has blocked.
public enum BlockListOperation: Hashable, Sendable {
    case add([UserID])
    case remove([UserID])
    /// Replaces the list. All other users are unblocked.
    case set([UserID])

    /// Returns true if the operation blocks this user.
    public func blocks(_ user: UserID) -> Bool {
        switch self {
        case .add(let users), .set(let users): users.contains(user)
        case .remove: false
        }
    }
}

/// The body of an app server's request to block one user: `{"user_id": "ben"}`.
public struct BlockBody: Hashable, Sendable {
    /// The user to block.
    public let user: UserID

    /// Parses the body.
    /// - Throws: ``Failure`` `missing_property` or `invalid_property` for `user_id`.
    public init(_ json: JSONValue) throws(Failure) {
        let text = try Members(json).requiredString("user_id")
        guard let user = RequestSender.server.userID(text) else {
            throw .invalid("user_id", reason: "is not a user id")
        }
        self.user = user
    }
}
