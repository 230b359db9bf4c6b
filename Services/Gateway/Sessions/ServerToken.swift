// SPDX-License-Identifier: Apache-2.0
import Crypto
import FoundationEssentials
import StrataModel

/// A server token as presented by an app's own server. It is never logged, and never kept longer than the request.
struct ServerToken: Sendable {
    /// The SHA-256 digest of the token. Only the digest is stored.
    let digest: [UInt8]

    /// The maximum number of characters in a token. Issued tokens have 43.
    private static let longest = 256

    /// Reads `Bearer <token>`. Nil if the text cannot be a token: letters, digits and `- . _ ~ + / =` (RFC 6750).
    init?(authorization header: String) {
        let scheme = "Bearer "
        guard header.count > scheme.count, header.prefix(scheme.count).lowercased() == scheme.lowercased() else {
            return nil
        }
        let text = header.dropFirst(scheme.count).drop { $0 == " " }
        guard !text.isEmpty, text.utf8.count <= Self.longest, text.utf8.allSatisfy(Self.isTokenByte) else { return nil }
        digest = Array(SHA256.hash(data: Array(text.utf8)))
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}

/// The authenticated caller of a request by an app's own server.
struct ServerCaller: Hashable, Sendable {
    let app: AppID
    /// The id of the token, by which an operator lists and revokes it.
    let token: UUID
}
