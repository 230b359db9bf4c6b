// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// The columns of a basic identity: id, name and picture.
struct BasicIdentityRow: Decodable {
    private let userID: UserID
    private let displayName: String?
    private let avatarURL: String?

    var identity: BasicIdentity { BasicIdentity(userID: userID, displayName: displayName, avatarURL: avatarURL) }
}

/// The columns of the type `identity`.
struct IdentityRow: Decodable {
    private let basic: BasicIdentityRow
    private let firstName: String?
    private let lastName: String?
    private let phoneNumber: String?
    private let emailAddress: String?
    private let publicKey: String?
    private let isBot: Bool
    private let metadata: String

    var identity: Identity {
        get throws {
            Identity(
                basic: basic.identity, firstName: firstName, lastName: lastName, phoneNumber: phoneNumber,
                emailAddress: emailAddress, publicKey: publicKey, kind: isBot ? .bot : .user,
                metadata: metadata == "{}"
                    ? [:] : try JSONDecoder().decode([String: String].self, from: Data(metadata.utf8)))
        }
    }

    /// Returns the select list of an identity's columns.
    /// - Parameter row: an SQL expression of the type `identity`.
    static func selected(from row: String) -> String {
        [
            "user_id", "display_name", "avatar_url", "first_name", "last_name", "phone_number", "email_address",
            "public_key", "is_bot", "metadata",
        ]
        .map { "\(row).\($0)" }.joined(separator: ", ")
    }
}
