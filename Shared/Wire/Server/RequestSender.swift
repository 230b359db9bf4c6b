// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Who sent a request, where that decides how it is read.
public enum RequestSender: Hashable, Sendable {
    /// A user's device, or the app's own server on behalf of a user.
    case client
    /// The app's own server, in its own name.
    case server

    /// Reads `layer:///identities/<encoded>` or a bare user id. A client spells a bare one as in a URL, percent-encoded; a server spells it as it is.
    public func userID(_ text: some StringProtocol) -> UserID? {
        switch self {
        case .client: UserID(parsing: text)
        case .server: text.hasPrefix("layer:///identities/") ? UserID(parsing: text) : UserID(text)
        }
    }
}
