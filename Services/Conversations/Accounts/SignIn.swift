// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import Postgres
import ServiceKit
import StrataModel

/// Exchanges an identity token for a session (docs/conformance.md §3.4).
struct SignIn: Sendable {
    struct Opened: Sendable {
        let sessionToken: SessionToken
        let identity: Identity
    }

    private let database: Database
    private let announcer: IdentityAnnouncer
    private let keys: AppKeys
    private let nonceKey: Nonce.Key
    private let sessionLifetime: Duration
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let accepted = Counter(label: "strata_conversations_sign_ins_total", dimensions: [("outcome", "ok")])

    /// - Parameter now: the clock that tokens and nonces are checked against.
    init(
        database: Database, directory: IdentityDirectory, publisher: Publisher, keys: AppKeys, nonceKey: Nonce.Key,
        sessionLifetime: Duration,
        logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.database = database
        announcer = IdentityAnnouncer(directory: directory, publisher: publisher)
        self.keys = keys
        self.nonceKey = nonceKey
        self.sessionLifetime = sessionLifetime
        self.logger = logger
        self.now = now
    }

    /// Checks a token, marks its nonce as used last, and opens a session. The user's identity is updated from the
    /// token.
    /// - Throws: ``StrataModel/Failure`` `missing_property`, `invalid_property` (for every defect of the token),
    ///   `invalid_app_id`, `app_suspended`, `user_suspended`, or the failure of the database. In these cases nothing is
    ///   stored, and the nonce remains unused.
    func open(_ token: String, for app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> Opened {
        if token.isEmpty { throw .missing("identity_token") }
        let (user, claims, nonce): (UserID, IdentityToken.Claims, Nonce)
        do {
            let token = try IdentityToken(compact: token)
            guard let key = try await keys.key(token.keyID, of: app, deadline: deadline) else {
                throw IdentityToken.Refusal.key
            }
            claims = try token.claims(verifiedBy: key.publicKey)
            let time = now()
            user = try claims.check(provider: key.provider, at: time)
            guard let genuine = Nonce.verify(claims.nonce, with: nonceKey, at: time) else {
                throw IdentityToken.Refusal.nonce
            }
            nonce = genuine
        } catch let refusal as IdentityToken.Refusal {
            throw refused(refusal, in: app)
        } catch {
            throw Failure(reading: error)
        }
        return try await openSession(of: user, with: claims.properties, using: nonce, in: app, deadline: deadline)
    }

    private func openSession(
        of user: UserID, with properties: IdentityProperties, using nonce: Nonce, in app: AppID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Opened {
        let session = SessionToken.random(of: app)
        do {
            let rows = try await database.runExclusive(
                OpenSession(
                    app: app, user: user, nonceDigest: nonce.digest, nonceExpiresAt: PostgresTimestamp(nonce.expiresAt),
                    digest: session.digest,
                    lifetime: sessionLifetime.components.seconds, claims: try properties.json()), deadline: deadline)
            guard let row = rows.first else { throw Failure(.internalServerError, "An internal error occurred.") }
            switch row.outcome {
            case "ok": break
            case "invalid_app_id": throw Failure.invalidApp
            case "app_suspended": throw Failure.appSuspended
            case "user_suspended": throw Failure.userSuspended
            default: throw refused(.nonce, in: app)
            }
            accepted.increment()
            guard let identity = try row.identity?.identity else { throw Failure.unexpected }
            // Notify the user's other devices and all followers.
            announcer.announce(identity, to: try row.logEntries?.entries, in: app)
            return Opened(sessionToken: session, identity: identity)
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Logs and counts a refusal. Its reason is for the operator; it names a check, never a value.
    private func refused(_ refusal: IdentityToken.Refusal, in app: AppID) -> Failure {
        Counter(label: "strata_conversations_sign_ins_total", dimensions: [("outcome", refusal.rawValue)]).increment()
        logger.info("sign-in refused", metadata: ["app.id": "\(app)", "sign_in.refusal": "\(refusal.rawValue)"])
        return .invalidToken
    }
}

extension PostgresTimestamp {
    init(_ date: Date) { self.init(microseconds: Int64((date.timeIntervalSince1970 * 1_000_000).rounded())) }
}
