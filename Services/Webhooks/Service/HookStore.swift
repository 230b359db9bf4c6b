// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// The service's way into the database.
struct HookStore: Sendable {
    /// Each statement alone in its transaction: a claim locks many rows, and must not hold them while others wait for theirs.
    let pool: PostgresPool
    /// How long ago a hook must have been verified before it becomes active: every service has asked for the apps with hooks since then, and what it began
    /// to write before that is done.
    /// The gateways' requests may take ten seconds.
    static let activationDelay = RecordedApps.lifetime + .seconds(12)
    /// Attempts of a hook that are kept.
    static let keptDeliveries: Int64 = 100

    func hooks<Query: PostgresQuery>(_ query: Query, deadline: ContinuousClock.Instant) async throws(Failure) -> [Hook]
    where Query.Columns == HookColumns {
        do {
            let rows = try await pool.query(query, deadline: deadline)
            let columns = try rows.columns(of: Query.self)
            return try rows.map { try columns.hook($0) }
        } catch {
            throw Failure(reading: error)
        }
    }

    /// - Throws: `invalid_operation` if the app has as many as it may have.
    func create(_ query: CreateHook, deadline: ContinuousClock.Instant) async throws(Failure) -> Hook {
        do {
            let rows = try await pool.query(query, deadline: deadline)
            guard let row = rows.first else { throw MalformedAnswer() }
            let columns = try rows.columns(of: CreateHook.self)
            guard try row[columns.outcome] == "ok" else {
                throw Failure(.invalidOperation, "An app may have at most \(query.limit) webhooks.")
            }
            guard try row[optional: columns.hookID] != nil else { throw Failure(.idInUse, "The id is in use.") }
            return try columns.hook.hook(row)
        } catch {
            throw Failure(reading: error)
        }
    }

    func outcome<Query: PostgresQuery>(_ query: Query, deadline: ContinuousClock.Instant) async throws(Failure) -> String?
    where Query.Columns == OutcomeColumns {
        do {
            let rows = try await pool.query(query, deadline: deadline)
            let columns = try rows.columns(of: Query.self)
            return try rows.first.map { try $0[columns.outcome] }
        } catch {
            throw Failure(reading: error)
        }
    }

    func deliveries(of id: WebhookID, in app: AppID, deadline: ContinuousClock.Instant) async throws(Failure) -> [WebhookDelivery] {
        do {
            let rows = try await pool.query(ReadDeliveries(app: app, id: id, limit: Self.keptDeliveries), deadline: deadline)
            let columns = try rows.columns(of: ReadDeliveries.self)
            return try rows.map { try columns.delivery($0) }
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Claims lanes.
    /// - Parameter limits: of each hook, how many.
    func claim(_ query: ClaimLanes, deadline: ContinuousClock.Instant) async throws -> [ClaimedLane] {
        let rows = try await pool.query(query, deadline: deadline)
        let columns = try rows.columns(of: ClaimLanes.self)
        var lanes: [ClaimedLane] = []
        for row in rows {
            let (hook, lane) = (WebhookID(rawValue: try row[columns.hook]), try row[columns.lane])
            if lanes.last?.lane != lane || lanes.last?.hook != hook {
                lanes.append(ClaimedLane(hook: hook, lane: lane, claim: query.claim, failures: Int(try row[columns.attempts])))
            }
            lanes[lanes.count - 1].events
                .append(
                    RecordedEvent(
                        position: try row[columns.position], number: try row[columns.number], kind: try row[columns.kind], id: try row[columns.event],
                        createdAt: StrataModel.Timestamp(microseconds: try row[columns.createdAt].microseconds), subject: try row[columns.subject],
                        facts: try row[columns.facts], parts: try row[optional: columns.parts]))
        }
        return lanes
    }

    /// Ends the work on lanes of one claim.
    /// - Returns: those that another transaction had locked.
    func finish(_ results: [LaneResult], of claim: UUID, deadline: ContinuousClock.Instant) async throws -> [LaneResult] {
        let rows = try await pool.query(FinishLanes(claim: claim, results: results), deadline: deadline)
        let columns = try rows.columns(of: FinishLanes.self)
        return try rows.map { row in results[try Int(row[columns.place]) - 1] }
    }

    /// Removes what is needed no more.
    func sweep(keep: Duration, deadline: ContinuousClock.Instant) async throws {
        while true {
            let rows = try await pool.query(SweepHooks(keep: keep.components.seconds, limit: 1000), deadline: deadline)
            guard let row = rows.first, try row[try rows.columns(of: SweepHooks.self).count] > 0 else { return }
        }
    }
}

/// What one hook is owed in one conversation, or a part of it, while this instance works on it.
struct ClaimedLane: Sendable {
    let hook: WebhookID
    let lane: UUID
    let claim: UUID
    /// How often its first event has failed before.
    let failures: Int
    var events: [RecordedEvent] = []
}

/// An event as it was recorded.
struct RecordedEvent: Sendable {
    let position: Int64
    let number: Int64
    let kind: String
    let id: UUID
    let createdAt: StrataModel.Timestamp
    /// The conversation, or what a push goes to.
    let subject: UUID
    let facts: String
    let parts: [UInt8]?
}

/// What came of the work on a lane.
struct LaneResult: Sendable {
    let hook: WebhookID
    let lane: UUID
    /// Up to where it was delivered; 0: nothing was.
    var position: Int64 = 0
    var number: Int64 = 0
    /// How often the next event has failed by now.
    var failures = 0
    /// When that is tried again; nil: nothing has failed.
    var pause: Duration?
}
