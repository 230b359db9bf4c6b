// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import FoundationEssentials
import Logging
import Postgres
import StrataModel
import Synchronization

/// The service's access to the database.
struct HookStore: Sendable {
    /// The connection pool. Each statement runs alone in its transaction: a claim locks many rows and must not hold
    /// them while other statements run.
    let pool: PostgresPool
    /// The time between a hook's verification and its activation. Within it, every service reads the list of apps with
    /// hooks and finishes the writes that it began before. A gateway's request takes at most ten seconds.
    static let activationDelay = RecordedApps.lifetime + .seconds(12)
    /// The number of attempts that are kept for a hook.
    static let keptDeliveries: Int64 = 100
    /// The maximum number of events of a hook that wait to be sent again.
    static let mostAgain: Int64 = 100

    private let unreadable: UnreadableHooks

    init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        unreadable = UnreadableHooks(logger: logger)
    }

    /// Reads hooks. A hook whose row cannot be decoded is logged and left out, so that it does not stop the others.
    func hooks<Query: PostgresQuery>(_ query: Query, deadline: ContinuousClock.Instant) async throws(Failure) -> [Hook]
    where Query.Row == HookRow {
        do {
            return try await pool.query(query, deadline: deadline)
                .compactMap { row in
                    if let hook = try? row.hook { return hook }
                    unreadable.report(row.id)
                    return nil
                }
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Reads one hook.
    /// - Returns: nil if it does not exist.
    /// - Throws: `unexpected` if its row cannot be decoded.
    func hook<Query: PostgresQuery>(_ query: Query, deadline: ContinuousClock.Instant) async throws(Failure) -> Hook?
    where Query.Row == HookRow {
        do {
            return try await pool.query(query, deadline: deadline).first?.hook
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Registers a hook.
    /// - Throws: `invalid_operation` if the app has the maximum number of hooks; `authentication_required` if the token
    ///   was revoked.
    func create(_ query: CreateHook, deadline: ContinuousClock.Instant) async throws(Failure) -> Hook {
        do {
            let rows = try await pool.query(query, deadline: deadline)
            guard let row = rows.first else { throw MalformedAnswer() }
            switch row.outcome {
            case "ok": break
            case "revoked": throw Failure(.authenticationRequired, "The server token has been revoked.")
            default: throw Failure(.invalidOperation, "An app may have at most \(query.limit) webhooks.")
            }
            guard let hook = row.hook else { throw Failure(.idInUse, "The id is in use.") }
            return try hook.hook
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Runs a statement and returns its outcome; nil if it returns no row.
    func outcome<Query: PostgresQuery>(
        _ query: Query, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> String?
    where Query.Row == OutcomeRow {
        do {
            return try await pool.query(query, deadline: deadline).first?.outcome
        } catch {
            throw Failure(reading: error)
        }
    }

    func deliveries(
        of id: WebhookID, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [WebhookDelivery] {
        do {
            let query = ReadDeliveries(app: app, id: id, limit: Self.keptDeliveries)
            return try await pool.query(query, deadline: deadline).map { try $0.delivery }
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Claims lanes, without their events.
    func claim(_ query: ClaimLanes, deadline: ContinuousClock.Instant) async throws -> [ClaimedLane] {
        try await pool.query(query, deadline: deadline)
            .map { row in
                ClaimedLane(
                    hook: row.hookID, lane: row.lane, claim: query.claim, failures: row.attempts,
                    failingFor: .seconds(row.failingSeconds), lost: row.lost, bytes: row.bytes)
            }
    }

    /// Reads the first events of claimed lanes of one app, up to a number of events and about a number of bytes per
    /// lane.
    /// - Returns: the lanes with their events, in the same order. Lanes without events are included, because they must
    ///   be finished, too.
    func read(
        _ claimed: [ClaimedLane], of app: AppID, events: Int64, bytes: Int64, deadline: ContinuousClock.Instant
    ) async throws -> [ClaimedLane] {
        var lanes = claimed
        guard !lanes.isEmpty else { return [] }
        let read = try await pool.query(
            ReadLanes(hooks: lanes.map(\.hook.rawValue), lanes: lanes.map(\.lane), events: events, bytes: bytes),
            user: UInt64(hashing: app.rawValue), deadline: deadline)
        let places = Dictionary(
            uniqueKeysWithValues: lanes.enumerated().map { (LanePlace(hook: $1.hook, lane: $1.lane), $0) })
        for row in read {
            guard let place = places[LanePlace(hook: row.hookID, lane: row.event.lane)] else { throw MalformedAnswer() }
            lanes[place].events.append(row.event)
        }
        return lanes
    }

    /// Reads the current state of the objects that an event concerns.
    /// - Parameter bytes: the maximum size of metadata, in bytes. A larger tree is left out.
    func complete(
        _ event: RecordedEvent, of app: AppID, bytes: Int64, deadline: ContinuousClock.Instant
    ) async throws -> RecordedEvent {
        let rows = try await pool.query(
            CompleteEvent(event: event, bytes: bytes), user: UInt64(hashing: app.rawValue), deadline: deadline)
        guard let row = rows.first else { throw MalformedAnswer() }
        var event = event
        (event.facts, event.parts) = (row.facts, row.parts)
        return event
    }

    /// Returns the backlogs of hooks, ordered by app and hook.
    func waiting(deadline: ContinuousClock.Instant) async throws -> [HookBacklog] {
        try await pool.query(ReadWaiting(), deadline: deadline)
    }

    /// Ends the work on lanes of one claim.
    /// - Returns: the results of lanes that another transaction had locked.
    func finish(_ results: [LaneResult], of claim: UUID, deadline: ContinuousClock.Instant) async throws -> [LaneResult]
    {
        let rows = try await pool.query(FinishLanes(claim: claim, results: results), deadline: deadline)
        return rows.map { results[$0.n - 1] }
    }

    /// Removes obsolete rows in portions. Does nothing while another instance sweeps.
    /// - Returns: the number of removed rows.
    @discardableResult
    func sweep(keep: Duration, portion: Int64 = 1000, deadline: ContinuousClock.Instant) async throws -> Int64 {
        var (total, after): (Int64, UUID?) = (0, nil)
        repeat {
            let rows = try await pool.query(
                SweepHooks(keep: keep.components.seconds, limit: portion, after: after), deadline: deadline)
            guard let row = rows.first else { throw MalformedAnswer() }
            total += row.removed
            after = row.nextAfter
        } while after != nil
        return total
    }

    /// Removes events that no outbox and no attempt refers to, in portions.
    func sweepEvents(portion: Int64 = 5000, deadline: ContinuousClock.Instant) async throws {
        var after: Int64?
        repeat {
            let rows = try await pool.query(SweepEvents(limit: portion, after: after), deadline: deadline)
            after = rows.first?.last
        } while after != nil
    }
}

/// The hooks whose rows could not be decoded. Each is logged once, although the active hooks are read every second.
private final class UnreadableHooks: Sendable {
    private let logger: Logger
    private let known = Mutex<Set<WebhookID>>([])

    init(logger: Logger) { self.logger = logger }

    func report(_ hook: WebhookID) {
        guard known.withLock({ $0.insert(hook).inserted }) else { return }
        logger.error("webhook cannot be read, sending nothing to it", metadata: ["webhook.id": "\(hook)"])
    }
}

private struct LanePlace: Hashable {
    let hook: WebhookID
    let lane: UUID?
}

/// The first events of one hook in one conversation, claimed by this instance.
struct ClaimedLane: Sendable {
    let hook: WebhookID
    let lane: UUID
    let claim: UUID
    /// The number of earlier failures of the first event.
    let failures: Int
    /// The time since the first of these failures; 0 if there was none.
    var failingFor = Duration.zero
    /// The number of claims since the last finished one. Their instances were killed.
    var lost = 0
    /// The size of all events in the lane, in bytes.
    var bytes = 0
    var events: [RecordedEvent] = []
}

struct RecordedEvent: Decodable {
    /// The row, which hooks share.
    let row: Int64
    let app: AppID
    let position: Int64
    let number: Int64
    let kind: String
    let id: UUID
    let createdAt: StrataModel.Timestamp
    /// The conversation, or the destination of a push.
    let subject: UUID
    var facts: String
    var parts: [UInt8]?
    /// The lane of the event; nil for the lane of its subject.
    var lane: UUID?

    enum CodingKeys: String, CodingKey {
        case row = "event", app = "appID", position, number, kind, id = "eventID", createdAt, subject, facts, parts,
            lane
    }

    /// True if the objects that the event concerns are read at delivery.
    var isReference: Bool {
        switch WebhookEventKind(rawValue: kind) {
        case .conversationCreated, .conversationUpdated, .participantsUpdated, .participationCreated,
            .participationDeleted, .messageUpdated,
            .messageDelivered, .messageRead, .partCreated, .partUpdated, .partDeleted:
            true
        case .messageCreated, .messageDeleted, .conversationDeleted, .receiptCreated, .push, .test, nil:
            false
        }
    }

    /// The approximate size in memory, in bytes.
    var bytes: Int { facts.utf8.count + (parts?.count ?? 0) }
}

struct LaneResult: Sendable {
    let hook: WebhookID
    let lane: UUID
    /// The position of the last delivered event; 0 if none was delivered.
    var position: Int64 = 0
    var number: Int64 = 0
    /// The number of failures of the next event so far.
    var failures = 0
    /// The time until the lane is due; nil if it is due immediately and nothing failed.
    var pause: Duration?
}
