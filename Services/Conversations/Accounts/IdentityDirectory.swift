// SPDX-License-Identifier: Apache-2.0
import Model
import Postgres
import Synchronization

/// The identities of an app's users, as they are embedded in conversations and messages.
///
/// Basic identities are remembered for a few seconds, in this process only: a new display name may take that long to show in new objects. Users
/// never heard of get a minimal identity, so that conversations can be started with somebody who has not signed in yet (spec 4.3).
final class IdentityDirectory: Sendable {
    private let database: Database
    private let lifetime: Duration
    private let cache: Mutex<ExpiringCache<Key, BasicIdentity>>

    private struct Key: Hashable {
        let app: AppID
        let user: UserID
    }

    /// - Parameters:
    ///   - lifetime: how long an identity is remembered.
    ///   - capacity: how many are remembered at most.
    init(database: Database, lifetime: Duration = .seconds(5), capacity: Int = 100_000) {
        self.database = database
        self.lifetime = lifetime
        cache = Mutex(ExpiringCache(capacity: capacity))
    }

    /// The basic identities of `users`, all of them.
    func basic(
        _ users: [UserID], in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [UserID: BasicIdentity] {
        let now = ContinuousClock.now
        var (found, missing) = cache.withLock { cache in
            var found: [UserID: BasicIdentity] = [:]
            found.reserveCapacity(users.count)
            var missing: [UserID] = []
            for user in users {
                if let identity = cache.value(for: Key(app: app, user: user), at: now) { found[user] = identity } else { missing.append(user) }
            }
            return (found, missing)
        }
        if missing.isEmpty { return found }
        let read = try await full(missing, in: app, deadline: deadline)
        let expiry = ContinuousClock.now + lifetime
        cache.withLock { cache in
            for (user, identity) in read { cache.insert(identity.basic, for: Key(app: app, user: user), until: expiry) }
        }
        for (user, identity) in read { found[user] = identity.basic }
        return found
    }

    /// The full identities of `users`, all of them, as the database has them now.
    func full(
        _ users: [UserID], in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [UserID: Identity] {
        let wanted = Set(users)
        var found = try await read(Array(wanted), in: app, with: .identitiesRead, deadline: deadline)
        let unknown = wanted.filter { found[$0] == nil }.sorted()
        if unknown.isEmpty { return found }
        for (user, identity) in try await read(unknown, in: app, with: .identitiesEnsure, deadline: deadline) { found[user] = identity }
        guard found.count == wanted.count else { throw Failure(.internalServerError, "Something went wrong on our side.") }
        return found
    }

    /// Forgets what is remembered of a user whose identity has just changed here.
    func forget(_ user: UserID, in app: AppID) {
        cache.withLock { $0.remove(Key(app: app, user: user)) }
    }

    private func read(
        _ users: [UserID], in app: AppID, with statement: Statement, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [UserID: Identity] {
        let values: [Value] = [.uuid(app.rawValue), .textArray(users.map(\.rawValue))]
        // Creating several rows may wait for several keys: alone, and in the order of the keys.
        let rows =
            if statement == .identitiesRead {
                try await database.run(statement, values, deadline: deadline)
            } else {
                try await database.runAlone(statement, values, deadline: deadline)
            }
        do {
            var found: [UserID: Identity] = [:]
            found.reserveCapacity(rows.count)
            for row in rows {
                let identity = try IdentityRow.decode(row)
                found[identity.basic.userID] = identity
            }
            return found
        } catch {
            throw Failure(reading: error)
        }
    }
}
