// SPDX-License-Identifier: Apache-2.0
import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import ServiceKit

/// The random tokens of sessions, links and apps' servers. Only their digests are stored.
enum SecretToken {
    /// Returns 256 random bits in base64url without padding: 43 characters.
    static func make() -> String { Base64URL.encode(SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }) }

    /// Returns the SHA-256 of the text.
    static func digest(of token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }
}

/// The cookie that holds the token of a session.
enum SessionCookie {
    static let name = "strata_console"
    /// The maximum age of a session, in seconds. Browsers forget the cookie then; the database decides.
    private static let age = 12 * 3600

    /// Returns the value of `Set-Cookie`. Browsers send the cookie with no request of another site, and show it to no
    /// script.
    /// - Parameter token: nil removes the cookie.
    static func header(_ token: String?, isSecure: Bool) -> String {
        let secure = isSecure ? "; Secure" : ""
        let age = token == nil ? 0 : age
        return "\(name)=\(token ?? ""); Path=/; Max-Age=\(age); HttpOnly; SameSite=Strict\(secure)"
    }
}

/// The role of an operator.
enum OperatorRole: String, Sendable, Encodable {
    /// Sees everything but traces, and changes nothing.
    case viewer
    /// Sees and changes everything.
    case `operator`
}

/// A session of an operator.
struct OperatorSession: Sendable {
    /// The operator's name.
    let name: String
    let role: OperatorRole
    /// The token that every change must carry.
    let csrf: String
    /// The SHA-256 of the cookie.
    let digest: [UInt8]

    /// Compares in constant time.
    func hasCSRFToken(_ token: String) -> Bool {
        let (left, right) = (Array(csrf.utf8), Array(token.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
