// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the processes of one system prove themselves to each other with. Made once, kept in the home with mode 0600.
struct Secrets: Codable, Equatable, Sendable {
    /// What services show each other.
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

    init(cluster: String, postgres: String, conversations: String, metadata: String, webhooks: String, webhooksSecret: String) {
        self.cluster = cluster
        self.postgres = postgres
        self.conversations = conversations
        self.metadata = metadata
        self.webhooks = webhooks
        self.webhooksSecret = webhooksSecret
    }

    /// Homes of older releases have no password and no secret for the webhooks service: then it gets new ones.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        cluster = try container.decode(String.self, forKey: .cluster)
        postgres = try container.decode(String.self, forKey: .postgres)
        conversations = try container.decode(String.self, forKey: .conversations)
        metadata = try container.decode(String.self, forKey: .metadata)
        webhooks = try container.decodeIfPresent(String.self, forKey: .webhooks) ?? RandomToken.make()
        webhooksSecret = try container.decodeIfPresent(String.self, forKey: .webhooksSecret) ?? RandomToken.make()
    }

    /// The secrets of a home; made and written if there are none.
    static func ensure(in home: StrataHome) throws -> Secrets {
        if let bytes = FileManager.default.contents(atPath: home.secrets) {
            do {
                let secrets = try JSONDecoder().decode(Secrets.self, from: bytes)
                let text = String(decoding: bytes, as: UTF8.self)
                let isComplete = ["webhooks", "webhooksSecret"].allSatisfy { text.contains("\"\($0)\"") }
                if !isComplete { try secrets.write(in: home) }
                return secrets
            } catch is DecodingError {
                // Never replaced: the database knows the passwords that were in it.
                throw CommandFailure(
                    .configuration, "The file \(home.secrets) cannot be understood. Restore it, or move \(home.path) away and start afresh.")
            }
        }
        let secrets = Secrets(
            cluster: RandomToken.make(), postgres: RandomToken.make(), conversations: RandomToken.make(), metadata: RandomToken.make(),
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
