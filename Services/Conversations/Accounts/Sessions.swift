// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// Sessions as they are used, checked and ended. A session is known by the SHA-256 of its token, which this service never sees again.
///
/// Its lifetime slides: using it, or holding a socket open by it, moves the end, written at most once a day. Suspending the user or the app makes all
/// sessions of that user or app invalid, lifting the suspension makes them valid again.
struct Sessions: Sendable {
    struct Session: Sendable {
        let app: AppID
        let identity: BasicIdentity
        let expiresAt: StrataModel.Timestamp
        let createdAt: StrataModel.Timestamp
        /// A replay from then on, with the margin that it is given, is complete.
        let replayableSince: StrataModel.Timestamp
    }

    private let database: Database
    private let publisher: Publisher
    /// In seconds.
    private let lifetime: Int64

    /// - Parameter lifetime: of a session that is not used, where its app does not say it.
    init(database: Database, publisher: Publisher, lifetime: Duration) {
        self.database = database
        self.publisher = publisher
        self.lifetime = lifetime.components.seconds
    }

    /// The session of a token with this digest.
    /// - Throws: ``StrataModel/Failure`` `authentication_required` if there is none that has not ended, or its app is suspended; `user_suspended`.
    func find(_ digest: [UInt8], deadline: ContinuousClock.Instant) async throws(Failure) -> Session {
        let rows = try await database.run(FindSession(digest: digest, lifetime: lifetime), deadline: deadline)
        guard let row = rows.first else { throw .sessionEnded }
        let session: Session
        let isDue: Bool
        do {
            let columns = try rows.columns(of: FindSession.self)
            if try row[columns.isSuspended] { throw Failure.userSuspended }
            session = try columns.session(in: row)
            isDue = try row[columns.isDue]
        } catch {
            throw Failure(reading: error)
        }
        if isDue { await renew([digest], deadline: deadline) }
        return session
    }

    /// Ends a session and has its sockets closed. Without effect if there is none.
    func end(_ digest: [UInt8], deadline: ContinuousClock.Instant) async throws(Failure) {
        let rows = try await database.runAlone(EndSession(digest: digest), deadline: deadline)
        guard let row = rows.first else { return }
        do {
            let columns = try rows.columns(of: EndSession.self)
            let (app, user) = (AppID(rawValue: try row[columns.app]), UserID(trusted: try row[columns.user]))
            publisher.notify([UserNotice(appID: app, user: user, content: .sessionEnded(tokenDigest: digest))])
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Those of `digests` that are no valid sessions any more, in the order given.
    func ended(_ digests: [[UInt8]], deadline: ContinuousClock.Instant) async throws(Failure) -> [[UInt8]] {
        if digests.isEmpty { return [] }
        let rows = try await database.run(CheckSessions(digests: digests, lifetime: lifetime), deadline: deadline)
        var valid: Set<[UInt8]> = []
        var due: [[UInt8]] = []
        do {
            let columns = try rows.columns(of: CheckSessions.self)
            for row in rows {
                let digest = try row[columns.digest]
                valid.insert(digest)
                if try row[columns.isDue] { due.append(digest) }
            }
        } catch {
            throw Failure(reading: error)
        }
        if !due.isEmpty { await renew(due, deadline: deadline) }
        return digests.filter { !valid.contains($0) }
    }

    /// Best effort: a session that could not be renewed now is still due the next time.
    private func renew(_ digests: [[UInt8]], deadline: ContinuousClock.Instant) async {
        _ = try? await database.runAlone(RenewSessions(digests: digests, lifetime: lifetime), deadline: deadline)
    }
}
