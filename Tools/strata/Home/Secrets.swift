// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import Schema

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
    /// The password of the role of the console.
    let console: String
    /// The secret that the webhooks service shares with its callers.
    let webhooksSecret: String

    /// Generates new secrets.
    private init() {
        cluster = RandomToken.make()
        postgres = RandomToken.make()
        conversations = RandomToken.make()
        metadata = RandomToken.make()
        webhooks = RandomToken.make()
        console = RandomToken.make()
        webhooksSecret = RandomToken.make()
    }

    /// Decodes secrets. Homes of older releases lack those of the webhooks service and of the console; new ones are
    /// generated.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        cluster = try container.decode(String.self, forKey: .cluster)
        postgres = try container.decode(String.self, forKey: .postgres)
        conversations = try container.decode(String.self, forKey: .conversations)
        metadata = try container.decode(String.self, forKey: .metadata)
        webhooks = try container.decodeIfPresent(String.self, forKey: .webhooks) ?? RandomToken.make()
        console = try container.decodeIfPresent(String.self, forKey: .console) ?? RandomToken.make()
        webhooksSecret = try container.decodeIfPresent(String.self, forKey: .webhooksSecret) ?? RandomToken.make()
    }

    /// The passwords of the services' roles.
    var rolePasswords: [Schema.ServiceRole: String] {
        [.conversations: conversations, .metadata: metadata, .webhooks: webhooks, .console: console]
    }

    /// Returns the secrets of a home. If there are none, they are generated and written.
    static func ensure(in home: StrataHome) throws -> Secrets {
        if let bytes = FileManager.default.contents(atPath: home.secrets) {
            do {
                let secrets = try JSONDecoder().decode(Secrets.self, from: bytes)
                let text = String(decoding: bytes, as: UTF8.self)
                let isComplete = ["webhooks", "console", "webhooksSecret"].allSatisfy { text.contains("\"\($0)\"") }
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
        let secrets = Secrets()
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
