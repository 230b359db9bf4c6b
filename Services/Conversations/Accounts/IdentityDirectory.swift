// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import NetKit
import Postgres
import StrataModel
import Synchronization

/// A cache of the identities of apps' users, as conversations and messages embed them.
///
/// This process caches basic identities for a few seconds, so a new display name may take that long to appear in new
/// objects. An unknown user has a minimal identity, so that conversations can be started with users who have not signed
/// in yet (docs/conformance.md §5.4). Reading a minimal identity stores nothing: only ``ensure(_:in:deadline:if:)``
/// writes.
final class IdentityDirectory: Sendable {
    private let database: Database
    private let lifetime: Duration
    private let cache: Mutex<ExpiringCache<Key, Entry>>

    private struct Key: Hashable {
        let app: AppID
        let user: UserID
    }

    private struct Entry {
        let identity: BasicIdentity
        /// True if there is a row that is not about to be removed. It stays as long as something refers to it.
        let isKept: Bool
    }

    /// - Parameters:
    ///   - lifetime: the maximum age of a cached identity.
    ///   - capacity: the maximum number of cached identities.
    init(database: Database, lifetime: Duration = .seconds(5), capacity: Int = 100_000) {
        self.database = database
        self.lifetime = lifetime
        cache = Mutex(ExpiringCache(capacity: capacity))
    }

    /// Returns the basic identities of all `users`.
    func basic(
        _ users: [UserID], in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [UserID: BasicIdentity] {
        var found: [UserID: BasicIdentity] = [:]
        found.reserveCapacity(users.count)
        var missing: Set<UserID> = []
        for (user, entry) in remembered(users, in: app) {
            if let entry { found[user] = entry.identity } else { missing.insert(user) }
        }
        if missing.isEmpty { return found }
        let stored = try await read(missing, in: app, deadline: deadline)
        for user in missing { found[user] = stored[user]?.identity.basic ?? BasicIdentity(userID: user) }
        return found
    }

    /// Returns the full identities of all `users`, from the database.
    func full(
        _ users: [UserID], in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [UserID: Identity] {
        let wanted = Set(users)
        let stored = try await read(wanted, in: app, deadline: deadline)
        return Dictionary(
            uniqueKeysWithValues: wanted.map {
                ($0, stored[$0]?.identity ?? Identity(basic: BasicIdentity(userID: $0)))
            })
    }

    /// Returns a user from the database, and whether they are suspended. nil: the user is unknown.
    func find(
        _ user: UserID, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (identity: Identity, isSuspended: Bool)? {
        let rows = try await database.run(FindUser(app: app, user: user), deadline: deadline)
        guard let row = rows.first else { return nil }
        do {
            return (try row.identity.identity, row.suspended)
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Stores a minimal identity for each of these users that has none, because they are about to take part in
    /// something.
    /// - Parameter isPossible: called before anything is written. If it returns false, nothing is written.
    func ensure(
        _ users: [UserID], in app: AppID, deadline: ContinuousClock.Instant,
        if isPossible: () async throws(Failure) -> Bool
    ) async throws(Failure) {
        let uncertain = Set(remembered(users, in: app).filter { $0.entry?.isKept != true }.map { $0.user })
        if uncertain.isEmpty { return }
        let stored = try await read(uncertain, in: app, deadline: deadline)
        let unknown = uncertain.filter { stored[$0]?.isKept != true }
        guard !unknown.isEmpty, try await isPossible() else { return }
        // Creating several rows may wait for locks on several keys. So the statement runs in its own transaction, in
        // the order of the keys.
        let rows = try await database.runExclusive(
            EnsureIdentities(app: app, users: Self.sorted(unknown)), deadline: deadline)
        _ = try remember(rows, of: unknown, in: app)
    }

    /// Removes a user from the cache after this process has changed their identity.
    func forget(_ user: UserID, in app: AppID) {
        cache.withLock { $0.remove(Key(app: app, user: user)) }
    }

    private func remembered(_ users: [UserID], in app: AppID) -> [(user: UserID, entry: Entry?)] {
        let now = ContinuousClock.now
        return cache.withLock { cache in users.map { ($0, cache.value(for: Key(app: app, user: $0), at: now)) } }
    }

    private func read(
        _ users: Set<UserID>, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [UserID: (identity: Identity, isKept: Bool)] {
        try remember(
            try await database.run(ReadIdentities(app: app, users: Self.sorted(users)), deadline: deadline), of: users,
            in: app)
    }

    private static func sorted(_ users: Set<UserID>) -> [String] { users.sorted().map(\.rawValue) }

    /// Caches the rows about `users`. A user without a row is cached as unknown.
    private func remember(
        _ rows: [ReadIdentities.Row], of users: Set<UserID>, in app: AppID
    ) throws(Failure) -> [UserID: (identity: Identity, isKept: Bool)] {
        var found: [UserID: (identity: Identity, isKept: Bool)] = [:]
        found.reserveCapacity(rows.count)
        do {
            for row in rows {
                let identity = try row.identity.identity
                found[identity.basic.userID] = (identity, !row.isDoomed)
            }
        } catch {
            throw Failure(reading: error)
        }
        let expiry = ContinuousClock.now + lifetime
        cache.withLock { cache in
            for user in users {
                let entry = found[user].map { Entry(identity: $0.identity.basic, isKept: $0.isKept) }
                cache.insert(
                    entry ?? Entry(identity: BasicIdentity(userID: user), isKept: false),
                    for: Key(app: app, user: user), until: expiry)
            }
        }
        return found
    }
}
