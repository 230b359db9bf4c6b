// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// A row of the statements that return hooks.
struct HookRow: Decodable {
    let id: WebhookID
    let appID: AppID
    let createdAt: StrataModel.Timestamp
    let version: String
    let targetURL: String
    let secret: [UInt8]
    let events: [String]
    let config: String
    let status: String
    let statusReason: String?
    let verifiedAt: StrataModel.Timestamp?

    static func selected(of row: String = "h") -> String {
        [
            "id", "app_id", "created_at", "version", "target_url", "secret", "events", "config", "status",
            "status_reason", "verified_at",
        ]
        .map { "(\(row)).\($0)" }.joined(separator: ", ")
    }

    var hook: Hook {
        get throws {
            guard let version = WebhookVersion(rawValue: version), let status = Webhook.Status(rawValue: status) else {
                throw MalformedAnswer()
            }
            return Hook(
                webhook: Webhook(
                    id: id, app: appID, version: version, targetURL: targetURL, events: events,
                    config: try JSONDecoder().decode([String: String].self, from: Data(config.utf8)), status: status,
                    statusReason: statusReason, createdAt: createdAt),
                sealedSecret: secret, verifiedAt: verifiedAt)
        }
    }
}

/// A webhook with its stored secret.
struct Hook: Hashable, Sendable {
    let webhook: Webhook
    /// The encrypted secret, as stored (``HookSecrets``).
    let sealedSecret: [UInt8]
    /// The time of the activation. Each activation has a different one.
    var verifiedAt: StrataModel.Timestamp?
}

/// An answer that the database functions never give. It indicates a bug in Strata.
struct MalformedAnswer: Error {}

/// The row of a statement that returns only an outcome.
struct OutcomeRow: Decodable {
    let outcome: String
}
