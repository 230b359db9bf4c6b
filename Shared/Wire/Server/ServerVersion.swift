// SPDX-License-Identifier: Apache-2.0

/// A version of the Server API. It determines the format of objects, and how requests can name them. Stored data is the
/// same for all versions.
public enum ServerVersion: Hashable, Sendable, CaseIterable, Comparable {
    case v1, v1_1, v2, v3

    /// The media type of webhooks, accepted beside that of all other objects.
    private static let webhookType = "application/vnd.layer.webhooks+json"

    /// Parses an `Accept` header like ``WireVersion``.
    /// - Parameter isOfWebhooks: true for a request about webhooks, which also have their own media type, and no
    ///   version 1.1.
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

    /// The version of the Client API with the same objects. The Client API begins with 2.0.
    public var clientVersion: WireVersion { self == .v3 ? .v3 : .v2 }
}
