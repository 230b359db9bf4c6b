// SPDX-License-Identifier: Apache-2.0

/// A version of the Server API. It decides how objects are written, and how they may be named in requests; what is stored is the same for all.
public enum ServerVersion: Hashable, Sendable, CaseIterable, Comparable {
    case v1, v1_1, v2, v3

    /// The media type of webhooks, beside the one of all other objects.
    private static let webhookType = "application/vnd.layer.webhooks+json"

    /// Reads an `Accept` header as ``WireVersion`` does.
    /// - Parameter isOfWebhooks: whether the request is about webhooks, which have a media type of their own, too, and no version 1.1.
    public init?(accept header: some StringProtocol, isOfWebhooks: Bool = false) {
        let types = ["application/vnd.layer+json"] + (isOfWebhooks ? [Self.webhookType] : [])
        let version: Self? = AcceptHeader.version(in: header, of: types) { name in
            switch name {
            case "1.0": .v1
            case "1.1" where !isOfWebhooks: .v1_1
            case "2.0": .v2
            case "3.0": .v3
            default: nil
            }
        }
        guard let version else { return nil }
        self = version
    }

    /// The version of the Client API whose objects it has. The Client API begins with 2.0.
    public var clientVersion: WireVersion { self == .v3 ? .v3 : .v2 }
}
