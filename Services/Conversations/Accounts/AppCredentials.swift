// SPDX-License-Identifier: Apache-2.0
import CryptoExtras
import DatabaseKit
import FoundationEssentials
import NetKit
import Postgres
import StrataModel
import Synchronization

struct AppKey: Sendable {
    /// The issuer that the app's tokens must name.
    let provider: UUID
    let publicKey: _RSA.Signing.PublicKey
}

/// A cache of the public keys that verify identity tokens. A withdrawn key stops working a few seconds later, when its
/// entry expires.
///
/// Only existing keys are cached. So requests with made-up ids cannot evict real keys, and a new key works immediately.
final class AppKeys: Sendable {
    private let database: Database
    private let lifetime: Duration
    private let cache: Mutex<ExpiringCache<Key, AppKey>>

    private struct Key: Hashable {
        let app: AppID
        let key: UUID
    }

    init(database: Database, lifetime: Duration = .seconds(10), capacity: Int = 256) {
        self.database = database
        self.lifetime = lifetime
        cache = Mutex(ExpiringCache(capacity: capacity))
    }

    /// Returns the key `id` of `app`.
    /// - Returns: nil if the app has no such key, or the key is unusable.
    /// - Throws: ``StrataModel/Failure`` `invalid_app_id`, `app_suspended`, or the failure of the database.
    func key(_ id: UUID, of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> AppKey? {
        let slot = Key(app: app, key: id)
        if let known = cache.withLock({ $0.value(for: slot, at: .now) }) { return known }
        let rows = try await database.run(ReadAppKey(app: app, key: id), deadline: deadline)
        guard let row = rows.first else { throw .invalidApp }
        if row.suspended { throw .appSuspended }
        guard let pem = row.publicKey, let publicKey = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else {
            return nil
        }
        let key = AppKey(provider: row.providerID, publicKey: publicKey)
        cache.withLock { $0.insert(key, for: slot, until: .now + lifetime) }
        return key
    }
}

extension Failure {
    static let invalidApp = Failure(.invalidAppID, "There is no such app.")
    static let appSuspended = Failure(.appSuspended, "This app is suspended.")
    static let userSuspended = Failure(.userSuspended, "This user is suspended.")
    /// One answer for every defect of a token, so that it does not help an attacker.
    static let invalidToken = Failure.invalid("identity_token", reason: "is not valid")
    static let sessionEnded = Failure(.authenticationRequired, "This session has ended, please sign in again.")
}

/// The tokens by which apps' own servers authenticate. A token is identified by its SHA-256; this service never
/// receives the token itself.
///
/// `strata app token` and the console create and revoke tokens. They are not cached here, so a revoked or expired token
/// is refused immediately.
struct ServerTokens: Sendable {
    private let database: Database

    init(database: Database) { self.database = database }

    /// Returns the id of the app's token with this digest.
    /// - Throws: ``StrataModel/Failure`` `invalid_app_id`, `app_suspended`; `authentication_required` for an unknown
    ///   token; `access_denied` for a token of another app.
    func find(_ digest: [UInt8], of app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> UUID {
        let rows = try await database.run(FindServerToken(app: app, digest: digest), deadline: deadline)
        guard let row = rows.first else { throw .invalidApp }
        if row.suspended { throw .appSuspended }
        guard let token = row.tokenID, let isOwn = row.isOwn else { throw .unknownServerToken }
        guard isOwn else { throw .accessDenied("This token is for another app.") }
        return token
    }
}

extension Failure {
    fileprivate static let unknownServerToken = Failure(
        .authenticationRequired, "The server token is unknown, has expired, or has been revoked.")
}
