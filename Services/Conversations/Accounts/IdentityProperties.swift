// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

/// What an identity token can say about its user. Absent: nothing is said.
///
/// The JSON names are those of the token's claims, and those that `conversations.sign_in` takes.
struct IdentityProperties: Codable, Hashable, Sendable {
    var displayName: String?
    var avatarURL: String?
    var firstName: String?
    var lastName: String?
    var phoneNumber: String?
    var emailAddress: String?
    var publicKey: String?
    var metadata: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case displayName = "display_name"
        case avatarURL = "avatar_url"
        case firstName = "first_name"
        case lastName = "last_name"
        case phoneNumber = "phone_number"
        case emailAddress = "email_address"
        case publicKey = "public_key"
        case metadata
    }

    /// As the database takes them.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Whether every value is within its limit and can be stored: PostgreSQL's text cannot hold NUL.
    var isWithinLimits: Bool {
        let texts: [(String?, Int)] = [
            (displayName, 128), (avatarURL, 1024), (firstName, 128), (lastName, 128), (phoneNumber, 32), (emailAddress, 255), (publicKey, 8192),
        ]
        guard texts.allSatisfy({ text, limit in text.map { Self.fits($0, within: limit) } ?? true }) else { return false }
        guard let metadata else { return true }
        return metadata.count <= 16 && metadata.allSatisfy { Self.fits($0, within: 128) && Self.fits($1, within: 1024) }
    }

    private static func fits(_ text: String, within limit: Int) -> Bool {
        text.unicodeScalars.count <= limit && !text.utf8.contains(0)
    }
}
