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
    where Query.Columns == HookColumns {
        do {
            let rows = try await pool.query(query, deadline: deadline)
            let columns = try rows.columns(of: Query.self)
            return rows.compactMap { row in
                if let hook = try? columns.hook(row) { return hook }
                if let id = try? row[columns.id] { unreadable.report(WebhookID(rawValue: id)) }
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
    where Query.Columns == HookColumns {
        do {
            let rows = try await pool.query(query, deadline: deadline)
            let columns = try rows.columns(of: Query.self)
            return try rows.first.map { try columns.hook($0) }
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
            let columns = try rows.columns(of: CreateHook.self)
            switch try row[columns.outcome] {
            case "ok": break
            case "revoked": throw Failure(.authenticationRequired, "The server token has been revoked.")
            default: throw Failure(.invalidOperation, "An app may have at most \(query.limit) webhooks.")
            }
            guard try row[optional: columns.hookID] != nil else { throw Failure(.idInUse, "The id is in use.") }
            return try columns.hook.hook(row)
        } catch {
            throw Failure(reading: error)
        }
    }

    func outcome<Query: PostgresQuery>(
        _ query: Query, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> String?
    where Query.Columns == OutcomeColumns {
        do {
            let rows = try await pool.query(query, deadline: deadline)
            let columns = try rows.columns(of: Query.self)
            return try rows.first.map { try $0[columns.outcome] }
        } catch {
            throw Failure(reading: error)
        }
    }

    func deliveries(
        of id: WebhookID, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [WebhookDelivery] {
        do {
            let rows = try await pool.query(
                ReadDeliveries(app: app, id: id, limit: Self.keptDeliveries), deadline: deadline)
            let columns = try rows.columns(of: ReadDeliveries.self)
            return try rows.map { try columns.delivery($0) }
        } catch {
            throw Failure(reading: error)
        }
    }

    /// Claims lanes, without their events.
    func claim(_ query: ClaimLanes, deadline: ContinuousClock.Instant) async throws -> [ClaimedLane] {
        let claimed = try await pool.query(query, deadline: deadline)
        let columns = try claimed.columns(of: ClaimLanes.self)
        return try claimed.map { row in
            ClaimedLane(
                hook: WebhookID(rawValue: try row[columns.hook]), lane: try row[columns.lane], claim: query.claim,
                failures: Int(try row[columns.attempts]), failingFor: .seconds(try row[columns.failing]),
                lost: Int(try row[columns.lost]),
                bytes: Int(try row[columns.bytes]))
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
        let eventColumns = try read.columns(of: ReadLanes.self)
        let places = Dictionary(
            uniqueKeysWithValues: lanes.enumerated().map { (LanePlace(hook: $1.hook.rawValue, lane: $1.lane), $0) })
        for row in read {
            guard let place = places[LanePlace(hook: try row[eventColumns.hook], lane: try row[eventColumns.lane])]
            else { throw MalformedAnswer() }
            lanes[place].events.append(try eventColumns.recorded(row))
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
        let columns = try rows.columns(of: CompleteEvent.self)
        guard let row = rows.first else { throw MalformedAnswer() }
        var event = event
        event.facts = try row[columns.facts]
        event.parts = try row[optional: columns.parts]
        return event
    }

    /// Returns the backlogs of hooks, ordered by app and hook.
    func waiting(deadline: ContinuousClock.Instant) async throws -> [HookBacklog] {
        let rows = try await pool.query(ReadWaiting(), deadline: deadline)
        let columns = try rows.columns(of: ReadWaiting.self)
        return try rows.map { row in
            HookBacklog(
                hook: WebhookID(rawValue: try row[columns.hook]), app: AppID(rawValue: try row[columns.app]),
                isInactive: try row[columns.isInactive],
                inactiveSince: try row[optional: columns.inactiveSince]?.microseconds,
                bytes: Int(try row[columns.bytes]))
        }
    }

    /// Ends the work on lanes of one claim.
    /// - Returns: the results of lanes that another transaction had locked.
    func finish(_ results: [LaneResult], of claim: UUID, deadline: ContinuousClock.Instant) async throws -> [LaneResult]
    {
        let rows = try await pool.query(FinishLanes(claim: claim, results: results), deadline: deadline)
        let columns = try rows.columns(of: FinishLanes.self)
        return try rows.map { row in results[try Int(row[columns.place]) - 1] }
    }

    /// Removes obsolete rows in portions. Does nothing while another instance sweeps.
    /// - Returns: the number of removed rows.
    @discardableResult
    func sweep(keep: Duration, portion: Int64 = 1000, deadline: ContinuousClock.Instant) async throws -> Int64 {
        var (total, after): (Int64, UUID?) = (0, nil)
        repeat {
            let rows = try await pool.query(
                SweepHooks(keep: keep.components.seconds, limit: portion, after: after), deadline: deadline)
            let columns = try rows.columns(of: SweepHooks.self)
            guard let row = rows.first else { throw MalformedAnswer() }
            total += try row[columns.removed]
            after = try row[optional: columns.next]
        } while after != nil
        return total
    }

    /// Removes events that no outbox and no attempt refers to, in portions.
    func sweepEvents(portion: Int64 = 5000, deadline: ContinuousClock.Instant) async throws {
        var after: Int64?
        repeat {
            let rows = try await pool.query(SweepEvents(limit: portion, after: after), deadline: deadline)
            let columns = try rows.columns(of: SweepEvents.self)
            after = try rows.first.flatMap { try $0[optional: columns.last] }
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
    let hook: UUID
    let lane: UUID
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

struct RecordedEvent: Sendable {
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

    /// True if the objects that the event concerns are read at delivery.
    var isReference: Bool {
        switch WebhookEventKind(rawValue: kind) {
        case .conversationCreated, .conversationUpdated, .participantsUpdated, .participationCreated,
            .participationDeleted, .messageUpdated,
            .messageDelivered, .messageRead, .partCreated, .partUpdated, .partDeleted:
            true
        case .messageCreated, .messageDeleted, .conversationDeleted, .receiptCreated, .push, nil: false
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
