// SPDX-License-Identifier: Apache-2.0
import CryptoExtras
import Foundation
import ServiceKit
import StrataModel
import Testing

@testable import Conversations

@Suite struct SignInTests {
    @Test("a genuine token opens a session and creates the identity from its claims")
    func opens() async throws {
        try await AccountsFixture.run { accounts in
            let token = accounts.token()
                .changed {
                    $0.claims["display_name"] = "Ana Silva"
                    $0.claims["avatar_url"] = "https://example.org/a.png"
                    $0.claims["first_name"] = "Ana"
                    $0.claims["last_name"] = "Silva"
                    $0.claims["phone_number"] = "+41 1"
                    $0.claims["email_address"] = "ana@example.org"
                    $0.claims["public_key"] = "key"
                    $0.claims["metadata"] = ["team": "blue"]
                }
            let opened = try await accounts.open(token)
            let expected = Identity(
                basic: BasicIdentity(
                    userID: UserID(trusted: "ana"), displayName: "Ana Silva", avatarURL: "https://example.org/a.png"),
                firstName: "Ana", lastName: "Silva", phoneNumber: "+41 1", emailAddress: "ana@example.org",
                publicKey: "key",
                metadata: ["team": "blue"])
            #expect(opened.identity == expected)
            // The secret, and the id of the app.
            #expect(opened.sessionToken.text.utf8.count == 43 + 22)
            let session = try await accounts.sessions.find(opened.sessionToken.digest, deadline: .soon)
            #expect(session.app == accounts.app)
            #expect(session.identity == expected.basic)
            #expect(try accounts.base.published.notices().isEmpty)
        }
    }

    @Test("a sign-in accepts layer ids and bare ids, and the types JWT and JWS")
    func spellings() async throws {
        try await AccountsFixture.run { accounts in
            try await accounts.open(
                accounts.token()
                    .changed {
                        $0.header["typ"] = "JWS"
                        $0.header["kid"] = "layer:///keys/\(accounts.keyID.uuidString)"
                        $0.claims["iss"] = "layer:///providers/\(accounts.provider.uuidString)"
                    })
        }
    }

    @Test("a PKCS#1 key works like a SubjectPublicKeyInfo key")
    func pkcs1() async throws {
        try await AccountsFixture.run { accounts in
            let key = UUID()
            try await accounts.createApp(
                accounts.app, provider: accounts.provider, keyID: key,
                pem: TokenMaker.otherKey.publicKey.pkcs1PEMRepresentation)
            try await accounts.open(
                accounts.token()
                    .changed {
                        $0.header["kid"] = key.uuidString
                        $0.signer = .rsa(TokenMaker.otherKey)
                    })
        }
    }

    /// Ways to invalidate a token. All get the same answer.
    static let spoilings: [(String, @Sendable (inout TokenMaker) -> Void)] = [
        ("another key", { $0.signer = .rsa(TokenMaker.otherKey) }),
        ("RSA-PSS instead of PKCS#1 v1.5", { $0.signer = .pss(TokenMaker.key) }),
        ("alg none", { ($0.header["alg"], $0.signer) = ("none", .nobody) }),
        ("RS256 without a signature", { $0.signer = .nobody }),
        (
            "HS256 with the public key as the secret",
            {
                ($0.header["alg"], $0.signer) = (
                    "HS256", .hmac(secret: Array(TokenMaker.key.publicKey.pemRepresentation.utf8))
                )
            }
        ),
        (
            "an HMAC that calls itself RS256",
            { $0.signer = .hmac(secret: Array(TokenMaker.key.publicKey.pemRepresentation.utf8)) }
        ),
        ("RS512", { $0.header["alg"] = "RS512" }),
        ("another typ", { $0.header["typ"] = "JWE" }),
        ("no typ", { $0.header["typ"] = nil }),
        ("another cty", { $0.header["cty"] = "layer-eit;v=2" }),
        ("no cty", { $0.header["cty"] = nil }),
        ("a critical extension", { $0.header["crit"] = ["b64"] }),
        ("an unknown key", { $0.header["kid"] = UUID().uuidString }),
        ("a kid that is no id", { $0.header["kid"] = "first" }),
        ("no kid", { $0.header["kid"] = nil }),
        ("another provider", { $0.claims["iss"] = UUID().uuidString }),
        ("no issuer", { $0.claims["iss"] = nil }),
        ("expired", { $0.claims["exp"] = $0.time - 1 }),
        ("no expiry", { $0.claims["exp"] = nil }),
        ("expiry as text", { $0.claims["exp"] = "9999999999" }),
        ("from the future", { $0.claims["iat"] = $0.time + 120 }),
        ("an absurd time", { $0.claims["iat"] = 1e300 }),
        ("no time of issue", { $0.claims["iat"] = nil }),
        ("no user", { $0.claims["prn"] = nil }),
        ("an empty user", { $0.claims["prn"] = "" }),
        ("a number for a user", { $0.claims["prn"] = 7 }),
        ("a user with a control character", { $0.claims["prn"] = "a\u{0}b" }),
        ("a user id that is too long", { $0.claims["prn"] = String(repeating: "u", count: 129) }),
        ("no nonce", { $0.claims["nce"] = nil }),
        ("a made-up nonce", { $0.claims["nce"] = String(repeating: "A", count: 56) }),
        (
            "a nonce of another cluster",
            { $0.claims["nce"] = Nonce.issue(with: Nonce.Key(clusterSecret: "another")).text }
        ),
        ("a name that is no text", { $0.claims["display_name"] = 7 }),
        ("a name that cannot be stored", { $0.claims["display_name"] = "a\u{0}" }),
        ("a name that is too long", { $0.claims["display_name"] = String(repeating: "n", count: 129) }),
        ("metadata that nests", { $0.claims["metadata"] = ["a": ["b": "c"]] }),
        (
            "too many metadata keys",
            { $0.claims["metadata"] = Dictionary(uniqueKeysWithValues: (0..<17).map { ("k\($0)", "v") }) }
        ),
    ]

    @Test("every invalid token is refused with the same message and leaves its nonce unused")
    func refusals() async throws {
        try await AccountsFixture.run { accounts in
            let nonce = accounts.nonce()
            for (what, spoil) in Self.spoilings {
                let refusal = try await accounts.refusal(of: accounts.token(nonce: nonce).changed(spoil))
                #expect(refusal == .invalidToken, "\(what)")
            }
            #expect(try await accounts.base.number("SELECT count(*) FROM conversations.used_nonce") == 0)
            #expect(try await accounts.base.number("SELECT count(*) FROM conversations.identity") == 0)
            try await accounts.open(accounts.token(nonce: nonce))
        }
    }

    @Test("malformed tokens of any length are refused")
    func garbage() async throws {
        try await AccountsFixture.run { accounts in
            let good = try accounts.token().text()
            let texts = [
                ".", "..", "...", "a.b.c", "\u{1F600}", good + ".", good + "A", "." + good,
                good.replacing(".", with: "~"), String(good.dropLast(8)),
                String(repeating: "A", count: 17_000), good + String(repeating: "A", count: 17_000), "e30.e30.e30",
                "bnVsbA.bnVsbA.", "W10.W10.W10",
                Base64URL.encode(Array(String(repeating: "[", count: 5000).utf8)) + ".e30.e30",
            ]
            for text in texts { #expect(try await accounts.refusal(of: text) == .invalidToken, "\(text.prefix(20))") }
            #expect(try await accounts.refusal(of: "") == .missing("identity_token"))
        }
    }

    @Test("a clock skew of one minute is accepted")
    func skew() async throws {
        try await AccountsFixture.run { accounts in
            try await accounts.open(
                accounts.token().changed { $0.claims["iat"] = Int(accounts.clock.now.timeIntervalSince1970) + 55 })
        }
    }

    @Test("a nonce is valid for ten minutes")
    func expiredNonce() async throws {
        try await AccountsFixture.run { accounts in
            let nonce = accounts.nonce()
            accounts.clock.advance(by: 601)
            let refusal = try await accounts.refusal(of: accounts.token(nonce: nonce))
            #expect(refusal == .invalidToken)
        }
    }

    @Test("a nonce is valid for one use")
    func usedNonce() async throws {
        try await AccountsFixture.run { accounts in
            let nonce = accounts.nonce()
            try await accounts.open(accounts.token(nonce: nonce))
            #expect(try await accounts.refusal(of: accounts.token("ben", nonce: nonce)) == .invalidToken)
            #expect(try await accounts.base.number("SELECT count(*) FROM conversations.session") == 1)
            #expect(try await accounts.base.number("SELECT count(*) FROM conversations.identity") == 1)
        }
    }

    @Test("exactly one of many concurrent uses of a nonce succeeds")
    func racingNonce() async throws {
        try await AccountsFixture.run { accounts in
            for round in 0..<5 {
                let nonce = accounts.nonce()
                let tokens = try (0..<8).map { try accounts.token("user\(round)-\($0 % 2)", nonce: nonce).text() }
                let (signIn, app) = (accounts.signIn, accounts.app)
                let won = await withTaskGroup(of: Bool.self) { group in
                    for token in tokens {
                        group.addTask { (try? await signIn.open(token, for: app, deadline: .soon)) != nil }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(won == 1)
            }
            #expect(try await accounts.base.number("SELECT count(*) FROM conversations.session") == 5)
        }
    }

    @Test("a key is valid for its own app only")
    func otherAppsKey() async throws {
        try await AccountsFixture.run { accounts in
            let (otherApp, otherKey) = (AppID.random(), UUID())
            try await accounts.createApp(otherApp, provider: UUID(), keyID: otherKey)
            #expect(
                try await accounts.refusal(of: accounts.token().changed { $0.header["kid"] = otherKey.uuidString })
                    == .invalidToken)
            #expect(try await accounts.refusal(of: accounts.token(), app: otherApp) == .invalidToken)
        }
    }

    @Test("unknown apps, suspended apps and suspended users have distinct errors")
    func suspended() async throws {
        try await AccountsFixture.run { accounts in
            #expect(try await accounts.refusal(of: accounts.token(), app: .random()) == .invalidApp)
            let opened = try await accounts.open(accounts.token())
            try await accounts.base.execute("UPDATE conversations.identity SET suspended = true")
            let nonce = accounts.nonce()
            #expect(try await accounts.refusal(of: accounts.token(nonce: nonce)) == .userSuspended)
            #expect(
                try await accounts.sessions.ended([opened.sessionToken.digest], deadline: .soon) == [
                    opened.sessionToken.digest
                ])
            try await accounts.base.execute("UPDATE conversations.identity SET suspended = false")
            try await accounts.open(accounts.token(nonce: nonce))
            try await accounts.base.execute("UPDATE conversations.app SET suspended = true")
            #expect(try await accounts.refusal(of: accounts.token()) == .appSuspended)
        }
    }

    @Test("a token with new claims changes the identity, in the user's own log, once")
    func identityChange() async throws {
        try await AccountsFixture.run { accounts in
            try await accounts.open(
                accounts.token().changed { ($0.claims["display_name"], $0.claims["first_name"]) = ("Ana", "Ana") })
            let ana = UserID(trusted: "ana")
            _ = try await accounts.base.directory.basic([ana], in: accounts.app, deadline: .soon)
            for _ in 0..<2 {
                let opened = try await accounts.open(
                    accounts.token()
                        .changed { ($0.claims["display_name"], $0.claims["first_name"]) = ("Ana \"B\"", "Ana") })
                #expect(opened.identity.basic.displayName == "Ana \"B\"")
                #expect(opened.identity.firstName == "Ana")
            }
            let notices = try accounts.base.published.notices()
            let notice = try #require(notices.first)
            #expect(notices.count == 1)
            #expect(notice.appID == accounts.app && notice.user == ana)
            guard case .change(let change) = notice.content, case .identityChanged(let identity) = change.content else {
                Issue.record("not an identity change")
                return
            }
            #expect(identity == Identity(basic: BasicIdentity(userID: ana, displayName: "Ana \"B\""), firstName: "Ana"))
            #expect(change.position == Position(1))
            #expect(
                try await accounts.base.number("SELECT count(*) FROM conversations.user_change WHERE kind = 4") == 1)
            let remembered = try await accounts.base.directory.basic([ana], in: accounts.app, deadline: .soon)
            #expect(remembered[ana]?.displayName == "Ana \"B\"")
        }
    }

    @Test("a token without claims leaves the identity unchanged")
    func nothingSaid() async throws {
        try await AccountsFixture.run { accounts in
            try await accounts.open(accounts.token().changed { $0.claims["display_name"] = "Ana" })
            let opened = try await accounts.open(accounts.token().changed { $0.claims["display_name"] = NSNull() })
            #expect(opened.identity.basic.displayName == "Ana")
            #expect(try accounts.base.published.notices().isEmpty)
        }
    }

    @Test("errors and refusals contain no part of a token")
    func secrecy() async throws {
        try await AccountsFixture.run { accounts in
            let token = try accounts.token("secretive-user").changed { $0.signer = .rsa(TokenMaker.otherKey) }.text()
            let refusal = try #require(try await accounts.refusal(of: token))
            #expect(!"\(refusal)".contains("secretive-user") && !"\(refusal)".contains(token.prefix(20)))
        }
    }
}
