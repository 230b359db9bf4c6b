// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation

/// The secrets with which the processes of one system authenticate each other. They are created once and stored in the
/// home with mode 0600.
struct Secrets: Codable, Equatable, Sendable {
    /// The cluster secret of the services.
    let cluster: String
    /// The password of PostgreSQL's superuser.
    let postgres: String
    /// The password of the role of the conversations service.
    let conversations: String
    /// The password of the role of the metadata service.
    let metadata: String
    /// The password of the role of the webhooks service.
    let webhooks: String
    /// The secret that gateways and the webhooks service share.
    let webhooksSecret: String

    init(
        cluster: String, postgres: String, conversations: String, metadata: String, webhooks: String,
        webhooksSecret: String
    ) {
        self.cluster = cluster
        self.postgres = postgres
        self.conversations = conversations
        self.metadata = metadata
        self.webhooks = webhooks
        self.webhooksSecret = webhooksSecret
    }

    /// Decodes secrets. Homes of older releases lack the webhooks service's password and secret; new ones are
    /// generated.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        cluster = try container.decode(String.self, forKey: .cluster)
        postgres = try container.decode(String.self, forKey: .postgres)
        conversations = try container.decode(String.self, forKey: .conversations)
        metadata = try container.decode(String.self, forKey: .metadata)
        webhooks = try container.decodeIfPresent(String.self, forKey: .webhooks) ?? RandomToken.make()
        webhooksSecret = try container.decodeIfPresent(String.self, forKey: .webhooksSecret) ?? RandomToken.make()
    }

    /// Returns the secrets of a home. If there are none, they are generated and written.
    static func ensure(in home: StrataHome) throws -> Secrets {
        if let bytes = FileManager.default.contents(atPath: home.secrets) {
            do {
                let secrets = try JSONDecoder().decode(Secrets.self, from: bytes)
                let text = String(decoding: bytes, as: UTF8.self)
                let isComplete = ["webhooks", "webhooksSecret"].allSatisfy { text.contains("\"\($0)\"") }
                if !isComplete { try secrets.write(in: home) }
                return secrets
            } catch is DecodingError {
                // The file is never replaced, because the database requires the passwords that it contained.
                throw CommandFailure(
                    .configuration,
                    "The file \(home.secrets) cannot be parsed. Restore it, or move \(home.path) away and start again."
                )
            }
        }
        let secrets = Secrets(
            cluster: RandomToken.make(), postgres: RandomToken.make(), conversations: RandomToken.make(),
            metadata: RandomToken.make(),
            webhooks: RandomToken.make(), webhooksSecret: RandomToken.make())
        try secrets.write(in: home)
        return secrets
    }

    private func write(in home: StrataHome) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try PrivateFile.write(try encoder.encode(self), to: home.secrets)
    }
}

enum RandomToken {
    /// Returns 256 random bits in base64url without padding: 43 characters that need no escaping in a URL, a header or
    /// a shell.
    static func make() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }.base64URL
    }
}

extension Data {
    /// The bytes as base64url without padding (RFC 4648 §5).
    var base64URL: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Decodes base64url without padding.
    init?(base64URL text: String) {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}
