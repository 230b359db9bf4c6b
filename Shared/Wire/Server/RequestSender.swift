// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The sender of a request, as far as it affects parsing.
public enum RequestSender: Hashable, Sendable {
    /// A user's device.
    case client
    /// The app's own server on behalf of a user. Requests are parsed as from a client, but user ids are not
    /// percent-encoded.
    case onBehalf
    /// The app's own server, in its own name.
    case server

    /// Parses `layer:///identities/<encoded>` or a bare user id. A client percent-encodes a bare id as in a URL; a
    /// server does not.
    public func userID(_ text: some StringProtocol) -> UserID? {
        switch self {
        case .client: UserID(parsing: text)
        case .onBehalf, .server: text.hasPrefix("layer:///identities/") ? UserID(parsing: text) : UserID(text)
        }
    }
}

extension JSONValue {
    /// The object without empty `id` and `encoding` members, because some servers send an empty text for a missing
    /// value.
    public var withoutEmptyIDs: JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { ($0.name != "id" && $0.name != "encoding") || $0.value != .string("") })
    }
}
