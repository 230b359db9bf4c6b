// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Who sent a request, where that decides how it is read.
public enum RequestSender: Hashable, Sendable {
    /// A user's device.
    case client
    /// The app's own server on behalf of a user: as a client, but that it spells users as it does in its own name.
    case onBehalf
    /// The app's own server, in its own name.
    case server

    /// Reads `layer:///identities/<encoded>` or a bare user id. A client spells a bare one as in a URL, percent-encoded; a server spells it as it is.
    public func userID(_ text: some StringProtocol) -> UserID? {
        switch self {
        case .client: UserID(parsing: text)
        case .onBehalf, .server: text.hasPrefix("layer:///identities/") ? UserID(parsing: text) : UserID(text)
        }
    }
}

extension JSONValue {
    /// An object of an app's own server as it is read: there are servers that send an empty text for an id and an encoding that they do not give.
    public var withoutEmptyIDs: JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { ($0.name != "id" && $0.name != "encoding") || $0.value != .string("") })
    }
}
