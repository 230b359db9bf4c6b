// SPDX-License-Identifier: Apache-2.0
import CryptoExtras
import Foundation
import ServiceKit
import StrataModel
import Synchronization

@testable import Conversations

/// An app with one key, with sign-in and sessions on its own database and an adjustable clock.
struct AccountsFixture {
    let base: ServiceFixture
    let app: AppID
    let provider: UUID
    let keyID: UUID
    let nonceKey: Nonce.Key
    let clock: Clock
    let signIn: SignIn
    let sessions: Sessions

    final class Clock: Sendable {
        private let state = Mutex(Date())
        var now: Date { state.withLock { $0 } }
        func advance(by seconds: TimeInterval) { state.withLock { $0 += seconds } }
    }

    static let lifetime: Duration = .seconds(30 * 86_400)

    @discardableResult
    static func run<Result: Sendable>(_ body: (AccountsFixture) async throws -> Result) async throws -> Result {
        try await ServiceFixture.run { base in
            let clock = Clock()
            let nonceKey = Nonce.Key(clusterSecret: "a secret of this test")
            let fixture = AccountsFixture(
                base: base, app: .random(), provider: UUID(), keyID: UUID(), nonceKey: nonceKey, clock: clock,
                signIn: SignIn(
                    database: base.database, directory: base.directory, publisher: base.publisher,
                    keys: AppKeys(database: base.database, lifetime: .zero), nonceKey: nonceKey,
                    sessionLifetime: lifetime,
                    logger: ServiceFixture.quietLogger, now: { clock.now }),
                sessions: Sessions(database: base.database, publisher: base.publisher, lifetime: lifetime))
            try await fixture.createApp(fixture.app, provider: fixture.provider, keyID: fixture.keyID)
            return try await body(fixture)
        }
    }

    func createApp(
        _ app: AppID, provider: UUID, keyID: UUID, pem: String = TokenMaker.key.publicKey.pemRepresentation
    ) async throws {
        try await base.execute(
            """
            INSERT INTO conversations.app (id, name, provider_id) VALUES ('\(app)', 'test', '\(provider)') ON CONFLICT DO NOTHING;
            INSERT INTO conversations.app_key (id, app_id, public_key) VALUES ('\(keyID)', '\(app)', '\(pem)');
            """)
    }

    func nonce() -> String { Nonce.issue(with: nonceKey, at: clock.now).text }

    func token(_ user: String = "ana", nonce: String? = nil) -> TokenMaker {
        TokenMaker(user: user, provider: provider, keyID: keyID, nonce: nonce ?? self.nonce(), now: clock.now)
    }

    @discardableResult
    func open(_ token: TokenMaker) async throws -> SignIn.Opened {
        try await signIn.open(token.text(), for: app, deadline: .soon)
    }

    /// Returns the failure with which a sign-in is refused; nil if it succeeds.
    func refusal(of token: TokenMaker, app: AppID? = nil) async throws -> Failure? {
        try await refusal(of: token.text(), app: app)
    }

    func refusal(of token: String, app: AppID? = nil) async throws -> Failure? {
        do {
            _ = try await signIn.open(token, for: app ?? self.app, deadline: .soon)
            return nil
        } catch {
            return error
        }
    }
}
