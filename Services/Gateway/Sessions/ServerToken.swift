// SPDX-License-Identifier: Apache-2.0
import Crypto
import FoundationEssentials
import StrataModel

/// A server token as an app's own server presents it. Never logged, never kept longer than the request.
struct ServerToken: Sendable {
    /// SHA-256, which is all that is stored anywhere.
    let digest: [UInt8]

    /// Characters of a token at most. Ours have 43.
    private static let longest = 256

    /// Reads `Bearer <token>`. Nil for a text that cannot be a token: letters, digits and `- . _ ~ + / =` (RFC 6750).
    init?(authorization header: String) {
        let scheme = "Bearer "
        guard header.count > scheme.count, header.prefix(scheme.count).lowercased() == scheme.lowercased() else { return nil }
        let text = header.dropFirst(scheme.count).drop { $0 == " " }
        guard !text.isEmpty, text.utf8.count <= Self.longest, text.utf8.allSatisfy(Self.isTokenByte) else { return nil }
        digest = Array(SHA256.hash(data: Array(text.utf8)))
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}

/// An app's own server, as every request of it carries it.
struct ServerCaller: Hashable, Sendable {
    let app: AppID
    /// Of the token that it showed; by this id an operator lists and revokes the token.
    let token: UUID
}
