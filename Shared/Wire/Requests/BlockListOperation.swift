// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// One operation on the list of users whom a user has blocked.
public enum BlockListOperation: Hashable, Sendable {
    case add([UserID])
    case remove([UserID])
    /// All others are unblocked.
    case set([UserID])

    /// True if the operation blocks this user.
    public func blocks(_ user: UserID) -> Bool {
        switch self {
        case .add(let users), .set(let users): users.contains(user)
        case .remove: false
        }
    }
}

/// The body of a request of an app's own server that blocks one user: `{"user_id": "ben"}`.
public struct BlockBody: Hashable, Sendable {
    /// Who is blocked.
    public let user: UserID

    /// - Throws: ``Failure`` `missing_property` or `invalid_property` for `user_id`.
    public init(_ json: JSONValue) throws(Failure) {
        let text = try Members(json).requiredString("user_id")
        guard let user = RequestSender.server.userID(text) else { throw .invalid("user_id", reason: "is not a user id") }
        self.user = user
    }
}
