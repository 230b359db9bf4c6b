// SPDX-License-Identifier: Apache-2.0
import CryptoExtras
import FoundationEssentials
import ServiceKit
import StrataModel

/// An identity token (docs/conformance.md §3.4) with a valid structure and header. Its claims can be trusted only after
/// ``claims(verifiedBy:)``.
struct IdentityToken: Sendable {
    /// The maximum size of a token. A token has a few hundred bytes; a longer text is refused unread.
    static let byteLimit = 16 * 1024

    /// The id of the key with which the token claims to be signed.
    let keyID: UUID
    private let signed: [UInt8]
    private let payload: [UInt8]
    private let signature: [UInt8]

    /// Parses a compact JWS.
    /// - Throws: ``Refusal/structure``, ``Refusal/header`` or ``Refusal/key``.
    init(compact text: String) throws(Refusal) {
        let limit = text.utf8.count
        guard limit <= Self.byteLimit else { throw .structure }
        let segments = text.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
        guard segments.count == 3, let header = Base64URL.decode(segments[0]),
            let payload = Base64URL.decode(segments[1]),
            let signature = Base64URL.decode(segments[2])
        else { throw .structure }
        guard let header = try? JSONDecoder().decode(Header.self, from: Data(header)) else { throw .structure }
        guard header.isAcceptable else { throw .header }
        guard let keyID = Self.uuid(header.kid, after: "layer:///keys/") else { throw .key }
        self.keyID = keyID
        self.payload = payload
        self.signature = signature
        signed = Array(text.utf8.prefix(segments[0].utf8.count + 1 + segments[1].utf8.count))
    }

    /// Verifies the RS256 signature with `key` and returns the claims. The algorithm in the header never selects
    /// another one.
    /// - Throws: ``Refusal/signature``, or ``Refusal/structure`` if the claims cannot be decoded.
    func claims(verifiedBy key: _RSA.Signing.PublicKey) throws(Refusal) -> Claims {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: Data(signature))
        guard key.isValidSignature(signature, for: signed, padding: .insecurePKCS1v1_5) else { throw .signature }
        guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload)) else { throw .structure }
        return claims
    }

    /// Parses a UUID in either case, with or without `prefix`.
    static func uuid(_ text: String, after prefix: String) -> UUID? {
        let rest = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : Substring(text)
        return rest.utf8.count == 36 ? UUID(uuidString: String(rest)) : nil
    }

    /// The reason for refusing a token. Clients do not learn it.
    enum Refusal: String, Error {
        case structure, header, key, signature, issuer, time, user, properties, nonce
    }
}

extension IdentityToken {
    private struct Header: Decodable {
        let typ: String
        let alg: String
        let cty: String
        let kid: String
        /// Extensions that the reader must understand (RFC 7515 §4.1.11). This reader supports none.
        let crit: [String]?

        var isAcceptable: Bool {
            alg == "RS256" && (typ == "JWT" || typ == "JWS") && cty == "layer-eit;v=1" && crit == nil
        }
    }

    /// The claims of a verified token.
    struct Claims: Decodable, Sendable {
        let issuer: String
        let user: String
        let nonce: String
        /// Seconds since 1970.
        let issuedAt: Double
        let expiresAt: Double
        let properties: IdentityProperties

        private enum CodingKeys: String, CodingKey {
            case issuer = "iss"
            case user = "prn"
            case nonce = "nce"
            case issuedAt = "iat"
            case expiresAt = "exp"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            issuer = try container.decode(String.self, forKey: .issuer)
            user = try container.decode(String.self, forKey: .user)
            nonce = try container.decode(String.self, forKey: .nonce)
            issuedAt = try container.decode(Double.self, forKey: .issuedAt)
            expiresAt = try container.decode(Double.self, forKey: .expiresAt)
            properties = try IdentityProperties(from: decoder)
        }

        /// The maximum difference in seconds between the clocks of the app's server and of this one.
        static let skew: Double = 60

        /// Checks the claims and returns the user.
        /// - Throws: ``Refusal/issuer``, ``Refusal/time``, ``Refusal/user`` or ``Refusal/properties``.
        func check(provider: UUID, at now: Date) throws(Refusal) -> UserID {
            guard IdentityToken.uuid(issuer, after: "layer:///providers/") == provider else { throw .issuer }
            let seconds = now.timeIntervalSince1970
            guard expiresAt > seconds, issuedAt <= seconds + Self.skew else { throw .time }
            guard let user = UserID(user) else { throw .user }
            guard properties.isWithinLimits else { throw .properties }
            return user
        }
    }
}

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
