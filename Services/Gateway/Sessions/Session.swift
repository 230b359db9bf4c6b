// SPDX-License-Identifier: Apache-2.0
import Crypto
import FanOut
import NIOCore
import StrataModel

/// The session of a signed-in user, part of every request and socket.
struct Session: Sendable {
    let key: UserKey
    /// The user's identity when the session was looked up.
    let identity: BasicIdentity
    let tokenDigest: [UInt8]
    let expiresAt: Timestamp
    /// The time of creation, by the database's clock, which also stamps changes.
    let createdAt: Timestamp
    /// The time from which a replay brings all changes since the session was made, or all that the log holds.
    let replayableSince: Timestamp
}

/// A session token as presented by a client. It is never logged, and never kept longer than the request.
struct SessionToken: Sendable {
    let text: String

    /// The SHA-256 digest of the token. Only the digest is stored.
    var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    /// Creates a token. Nil if the text cannot be an issued token, which consists of `A-Z a-z 0-9 . _ -`
    /// (docs/conformance.md §3.4) and has at most 128 characters.
    init?(_ text: some StringProtocol) {
        let isPlausible = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isPlausible, !text.isEmpty, text.utf8.count <= 128 else { return nil }
        self.text = String(text)
    }

    /// Reads `Layer session-token="<token>"`, in double, single or no quotes (docs/conformance.md §1.3).
    init?(authorization header: String) {
        let scheme = "Layer session-token="
        guard header.count > scheme.count, header.prefix(scheme.count).lowercased() == scheme.lowercased() else {
            return nil
        }
        var token = header.dropFirst(scheme.count)
        for quote in ["\"", "'"] where token.count >= 2 && token.hasPrefix(quote) && token.hasSuffix(quote) {
            token = token.dropFirst().dropLast()
            break
        }
        self.init(token)
    }
}
