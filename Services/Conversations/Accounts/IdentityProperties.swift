// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

/// The properties of a user in an identity token. nil: the token does not contain the property.
///
/// The JSON names are those of the token's claims and of the argument of `conversations.sign_in`.
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

    /// Returns the properties as JSON, for `conversations.sign_in`.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// True if every value is within its limit and can be stored.
    var isWithinLimits: Bool {
        let texts: [(String?, CodingKeys)] = [
            (displayName, .displayName), (avatarURL, .avatarURL), (firstName, .firstName), (lastName, .lastName),
            (phoneNumber, .phoneNumber),
            (emailAddress, .emailAddress), (publicKey, .publicKey),
        ]
        let areShort = texts.allSatisfy { text, key in
            text.map { IdentityLimits.fits($0, within: IdentityLimits.texts[key.rawValue] ?? 0) } ?? true
        }
        guard areShort, let metadata else { return areShort }
        return metadata.count <= IdentityLimits.metadataKeys
            && metadata.allSatisfy {
                IdentityLimits.fits($0, within: IdentityLimits.metadataKey)
                    && IdentityLimits.fits($1, within: IdentityLimits.metadataValue)
            }
    }
}
