// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import NetKit
import Postgres
import StrataModel
import Synchronization

/// The identities of an app's users, as they are embedded in conversations and messages.
///
/// Basic identities are remembered for a few seconds, in this process only: a new display name may take that long to show in new objects. Users never
/// heard of have a minimal identity, so that conversations can be started with users who have not signed in yet (docs/conformance.md §5.4). Asking
/// for one leaves no trace: only ``ensure(_:in:deadline:if:)`` writes.
final class IdentityDirectory: Sendable {
    private let database: Database
    private let lifetime: Duration
    private let cache: Mutex<ExpiringCache<Key, Entry>>

    private struct Key: Hashable {
        let app: AppID
        let user: UserID
    }

    /// A user as the database has them.
    private struct Entry {
        let identity: BasicIdentity
        /// Whether there is a row, which stays as long as something refers to it.
        let isKept: Bool
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

    /// The full identities of `users`, all of them, as the database has them now.
    func full(
        _ users: [UserID], in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [UserID: Identity] {
        let wanted = Set(users)
        let stored = try await read(wanted, in: app, deadline: deadline)
        return Dictionary(uniqueKeysWithValues: wanted.map { ($0, stored[$0]?.identity ?? Identity(basic: BasicIdentity(userID: $0))) })
    }

    /// A user as the database has them now, and whether they are suspended; nil for one who has not been heard of.
    func find(
        _ user: UserID, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (identity: Identity, isSuspended: Bool)? {
        let rows = try await database.run(FindUser(app: app, user: user), deadline: deadline)
        guard let row = rows.first else { return nil }
        do {
            let columns = try rows.columns(of: FindUser.self)
            return (try columns.identity.identity(in: row), try row[columns.isSuspended])
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Writes a minimal identity for each of these users who has none: they are about to take part in something.
    /// - Parameter isPossible: asked before anything is written; false: nothing is.
    func ensure(
        _ users: [UserID], in app: AppID, deadline: ContinuousClock.Instant, if isPossible: () async throws(Failure) -> Bool
    ) async throws(Failure) {
        let uncertain = Set(remembered(users, in: app).filter { $0.entry?.isKept != true }.map { $0.user })
        if uncertain.isEmpty { return }
        let stored = try await read(uncertain, in: app, deadline: deadline)
        let unknown = uncertain.filter { stored[$0]?.isKept != true }
        guard !unknown.isEmpty, try await isPossible() else { return }
        // Creating several rows may wait for several keys: alone, and in the order of the keys.
        let rows = try await database.runAlone(EnsureIdentities(app: app, users: Self.sorted(unknown)), deadline: deadline)
        _ = try remember(rows, of: unknown, in: app)
    }

    /// Forgets what is remembered of a user whose identity has just changed here.
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
        try remember(try await database.run(ReadIdentities(app: app, users: Self.sorted(users)), deadline: deadline), of: users, in: app)
    }

    private static func sorted(_ users: Set<UserID>) -> [String] { users.sorted().map(\.rawValue) }

    /// Takes rows about `users`; who has none is remembered as that.
    private func remember(
        _ rows: Rows, of users: Set<UserID>, in app: AppID
    ) throws(Failure) -> [UserID: (identity: Identity, isKept: Bool)] {
        var found: [UserID: (identity: Identity, isKept: Bool)] = [:]
        found.reserveCapacity(rows.count)
        do {
            let columns = try rows.columns(IdentitiesColumns.self)
            for row in rows {
                let identity = try columns.identity.identity(in: row)
                found[identity.basic.userID] = (identity, try !row[columns.isDoomed])
            }
        } catch {
            throw Failure(reading: error)
        }
        let expiry = ContinuousClock.now + lifetime
        cache.withLock { cache in
            for user in users {
                let entry = found[user].map { Entry(identity: $0.identity.basic, isKept: $0.isKept) }
                cache.insert(entry ?? Entry(identity: BasicIdentity(userID: user), isKept: false), for: Key(app: app, user: user), until: expiry)
            }
        }
        return found
    }
}
