// SPDX-License-Identifier: Apache-2.0
import Crypto
import DatabaseKit
import FoundationEssentials
import Postgres
import ServiceKit
import StrataModel

/// Finds, checks and ends sessions. A session is identified by the SHA-256 of its token; this service does not receive
/// the token again.
///
/// The lifetime of a session is sliding: requests and open sockets prolong it, with at most one write a day. Suspending
/// a user or an app makes all of its sessions invalid; lifting the suspension makes them valid again.
struct Sessions: Sendable {
    struct Session: Sendable {
        let app: AppID
        let identity: BasicIdentity
        let expiresAt: StrataModel.Timestamp
        let createdAt: StrataModel.Timestamp
        /// The earliest time from which a replay, with its margin, is complete.
        let replayableSince: StrataModel.Timestamp
    }

    private let database: Database
    private let publisher: Publisher
    /// The lifetime of an unused session in seconds, if its app does not define one.
    private let lifetime: Int64

    init(database: Database, publisher: Publisher, lifetime: Duration) {
        self.database = database
        self.publisher = publisher
        self.lifetime = lifetime.components.seconds
    }

    /// Finds the session of the token with this digest, and prolongs it if it is due.
    /// - Throws: ``StrataModel/Failure`` `authentication_required` if there is no unexpired session, or its app is
    ///   suspended; `user_suspended`.
    func find(_ digest: [UInt8], deadline: ContinuousClock.Instant) async throws(Failure) -> Session {
        let rows = try await database.run(FindSession(digest: digest, lifetime: lifetime), deadline: deadline)
        guard let row = rows.first else { throw .sessionEnded }
        if row.suspended { throw .userSuspended }
        if row.isDue { await renew([digest], deadline: deadline) }
        return row.session
    }

    /// Ends a session and closes its sockets. Does nothing if the session does not exist.
    func end(_ digest: [UInt8], deadline: ContinuousClock.Instant) async throws(Failure) {
        let rows = try await database.runExclusive(EndSession(digest: digest), deadline: deadline)
        guard let row = rows.first else { return }
        publisher.notify([
            UserNotice(appID: row.appID, user: row.userID, content: .sessionEnded(tokenDigest: digest))
        ])
    }

    /// Returns the members of `digests` that are not valid sessions, in the given order.
    func ended(_ digests: [[UInt8]], deadline: ContinuousClock.Instant) async throws(Failure) -> [[UInt8]] {
        if digests.isEmpty { return [] }
        let rows = try await database.run(CheckSessions(digests: digests, lifetime: lifetime), deadline: deadline)
        let valid = Set(rows.map(\.digest))
        let due = rows.filter(\.isDue).map(\.digest)
        if !due.isEmpty { await renew(due, deadline: deadline) }
        return digests.filter { !valid.contains($0) }
    }

    /// Prolongs sessions. Errors are ignored, because the session is still due at the next check.
    private func renew(_ digests: [[UInt8]], deadline: ContinuousClock.Instant) async {
        _ = try? await database.runExclusive(RenewSessions(digests: digests, lifetime: lifetime), deadline: deadline)
    }
}

/// The secret that authenticates a client: 256 random bits, issued once, and the id of the app. The database stores
/// only its digest.
struct SessionToken: Sendable {
    /// 43 characters for the bits and 22 for the id, all of `A–Z a–z 0–9 - _`, which stock clients can send in every
    /// place (docs/conformance.md §3.4). Gateways read the app from it, to ask its database.
    let text: String

    /// The SHA-256 of ``text``, which identifies the session.
    var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    static func random(of app: AppID) -> SessionToken {
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let id = withUnsafeBytes(of: app.rawValue.uuid) { Array($0) }
        return SessionToken(text: Base64URL.encode(secret) + Base64URL.encode(id))
    }
}
