// SPDX-License-Identifier: Apache-2.0

import Contracts
import FoundationEssentials
import Metrics
import NIOCore
import Redis
import StrataModel

/// Presence in Redis: the leases of connections, and the resulting statuses of their users.
struct PresenceStore: Sweepable {
    struct User: Hashable, Sendable {
        var app: AppID
        var id: UserID

        init(app: AppID, id: UserID) {
            self.app = app
            self.id = id
        }

        /// Reads `<app>:<user>`.
        init?(member: String) {
            let parts = member.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let app = AppID(parsing: parts[0]), let id = UserID(parts[1]) else { return nil }
            self.init(app: app, id: id)
        }

        var member: String { "\(app):\(id)" }
        var shard: Int { Channels.presenceShard(app: app, user: id) }
        /// The `KEYS` of ``PresenceScripts``: leases, record, deadlines of the shard, and the user's channel.
        var keys: [String] {
            let shard = shard
            return [
                "pl:{\(shard)}:\(member)", "pr:{\(shard)}:\(member)", PresenceStore.deadlines(of: shard),
                Channels.presence(app: app, user: id),
            ]
        }
    }

    struct Found: Sendable {
        var presence: Presence
        /// The time of the last change of status; nil if none is recorded.
        var changedAt: Timestamp?
    }

    let name = "presence"
    let metricPrefix = "strata_presence_lease"
    private let redis: RedisClient
    private let periods: PresencePeriods
    private let timeout: Duration
    private let scripts: PresenceScripts
    /// The number of users settled by sweeps. A user with several expired leases counts once.
    private let settledUsers = Counter(label: "strata_presence_leases_swept_total")
    /// The number of invalid members removed from deadlines.
    private let droppedMembers = Counter(label: "strata_presence_members_dropped_total")

    init(redis: RedisClient, periods: PresencePeriods, timeout: Duration, scripts: PresenceScripts = PresenceScripts())
    {
        self.redis = redis
        self.periods = periods
        self.timeout = timeout
        self.scripts = scripts
    }

    private typealias Call = (script: RedisScript, keys: [String], arguments: [RedisArgument])

    private func call(_ script: RedisScript, for user: User, arguments: [RedisArgument] = []) throws -> Call {
        var names = ProtoPresenceChange()
        names.appID = Data(user.app)
        names.userID = user.id.rawValue
        return (
            script, user.keys,
            [.string(user.member), .bytes(try ByteBuffer(protobuf: names)), .milliseconds(periods.retention)]
                + arguments
        )
    }

    /// Evaluates the scripts in one pipeline.
    /// - Returns: the replies, in the order of the calls.
    /// - Throws: the first error of a script.
    private func perform(_ calls: [Call], deadline: ContinuousClock.Instant) async throws -> [RedisValue] {
        try await redis.evaluateAll(calls, deadline: min(deadline, .now + timeout)).map { try $0.get() }
    }

    /// Sets the status of a connection. Nil means `auto`: the status that the user last chose, or `available`.
    func set(
        _ status: Presence.Status?, of connection: UInt64, for user: User, deadline: ContinuousClock.Instant
    ) async throws {
        let call = try call(
            scripts.set, for: user,
            arguments: [.string(String(connection)), .string(status?.rawValue ?? "auto"), .milliseconds(periods.lease)])
        _ = try await perform([call], deadline: deadline)
    }

    /// Renews leases in one pipeline.
    /// - Returns: the leases that Redis no longer has.
    func renew(
        _ leases: [(user: User, connections: [UInt64])], deadline: ContinuousClock.Instant
    ) async throws -> [(user: User, connections: [UInt64])] {
        let calls = try leases.map { lease in
            try call(
                scripts.renew, for: lease.user,
                arguments: [.milliseconds(periods.lease)] + lease.connections.map { .string(String($0)) })
        }
        return zip(leases, try await perform(calls, deadline: deadline))
            .map { lease, reply in
                (lease.user, reply.array?.compactMap { $0.string.flatMap(UInt64.init) } ?? [])
            }
    }

    /// Makes leases end after the grace period, in one pipeline.
    func release(_ leases: [(user: User, connections: [UInt64])], deadline: ContinuousClock.Instant) async throws {
        let calls = try leases.map { lease in
            try call(
                scripts.release, for: lease.user,
                arguments: [.milliseconds(periods.grace)] + lease.connections.map { .string(String($0)) })
        }
        _ = try await perform(calls, deadline: deadline)
    }

    /// Returns the presence of users, in their order, and settles them: expired leases are removed, and a changed
    /// status is published.
    func find(_ users: [User], deadline: ContinuousClock.Instant) async throws -> [Found] {
        let calls = try users.map { try call(scripts.get, for: $0) }
        return try await perform(calls, deadline: deadline)
            .map { reply in
                guard let fields = reply.array, fields.count == 3,
                    let status = fields[0].string.flatMap(Presence.Status.init(rawValue:))
                else {
                    throw MalformedReply()
                }
                return Found(
                    presence: Presence(status: status, lastSeenAt: fields[1].int.map(Timestamp.init(microseconds:))),
                    changedAt: fields[2].int.map(Timestamp.init(microseconds:)))
            }
    }

    func sweep(_ shards: [Int]) async -> [SweepFinding] {
        let requests: [Call] = shards.map {
            (scripts.due, [Self.deadlines(of: $0)], [.integer(Int64(periods.sweepBatch))])
        }
        var calls: [(index: Int, call: Call)] = []
        var findings: [SweepFinding] = []
        for (index, result) in await redis.evaluateAll(requests, deadline: .now + timeout).enumerated() {
            let (finding, due) = finding(result, on: shards[index])
            findings.append(finding)
            calls += due.map { (index, $0) }
        }
        guard !calls.isEmpty else { return findings }
        // Only settled members are no longer due. If a call fails, the sweep counts as failed; otherwise it would be
        // repeated immediately and find the same members.
        for (call, result) in zip(calls, await redis.evaluateAll(calls.map { $0.call }, deadline: .now + timeout)) {
            guard case .success(let reply) = result else {
                findings[call.index] = .failed
                continue
            }
            if call.call.script.name == scripts.drop.name {
                droppedMembers.increment(by: reply.int ?? 0)
            } else {
                settledUsers.increment()
            }
        }
        return findings
    }

    /// Returns the key of a shard's deadlines.
    private static func deadlines(of shard: Int) -> String { "pd:{\(shard)}" }

    /// Interprets the reply of ``PresenceScripts/due`` for a shard.
    /// - Returns: the finding, and the calls that settle due users or remove invalid members.
    private func finding(_ result: Result<RedisValue, RedisError>, on shard: Int) -> (SweepFinding, [Call]) {
        guard case .success(let reply) = result else { return (.failed, []) }
        if let wait = reply.int { return (.nothing(next: wait < 0 ? nil : .milliseconds(wait)), []) }
        guard let elements = reply.array, let late = elements.first?.int else { return (.failed, []) }
        var due: [Call] = []
        var invalid: [RedisArgument] = []
        for element in elements.dropFirst() {
            guard let bytes = element.bytes else { continue }
            // A member in another spelling is not the key that the script for this user would settle.
            if let user = User(member: String(buffer: bytes)), ByteBuffer(string: user.member) == bytes,
                let call = try? call(scripts.get, for: user)
            {
                due.append(call)
            } else {
                invalid.append(.bytes(bytes))
            }
        }
        let isBatchFull = due.count >= periods.sweepBatch
        // Remove members that name no user. No lease settles them, so every sweep would find them first.
        if !invalid.isEmpty { due.append((scripts.drop, [Self.deadlines(of: shard)], invalid)) }
        return (.work(lateness: .milliseconds(late), isBatchFull: isBatchFull), due)
    }
}
