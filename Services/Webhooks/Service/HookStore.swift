// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import FoundationEssentials
import Logging
import Postgres
import StrataModel
import Synchronization

/// The service's way into the database.
struct HookStore: Sendable {
    /// Each statement alone in its transaction: a claim locks many rows, and must not hold them while others wait for theirs.
    let pool: PostgresPool
    /// How long ago a hook must have been verified before it becomes active: every service has asked for the apps with hooks since then, and what it had begun
    /// to write before is done, since a request of a gateway takes ten seconds at most.
    static let activationDelay = RecordedApps.lifetime + .seconds(12)
    /// Attempts of a hook that are kept.
    static let keptDeliveries: Int64 = 100
    /// The most events of a hook that wait to be sent again.
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
    /// - Returns: nil if there is none.
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

    /// - Throws: `invalid_operation` if the app has as many as it may have; `authentication_required` if the token was revoked.
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

    /// Claims lanes. Their events are still to be read.
    func claim(_ query: ClaimLanes, deadline: ContinuousClock.Instant) async throws -> [ClaimedLane] {
        let claimed = try await pool.query(query, deadline: deadline)
        let columns = try claimed.columns(of: ClaimLanes.self)
        return try claimed.map { row in
            ClaimedLane(
                hook: WebhookID(rawValue: try row[columns.hook]), lane: try row[columns.lane], claim: query.claim,
                failures: Int(try row[columns.attempts]), failingFor: .seconds(try row[columns.failing]), lost: Int(try row[columns.lost]),
                bytes: Int(try row[columns.bytes]))
        }
    }

    /// Reads the first events of claimed lanes: of each at most so many, and about so many bytes.
    /// - Returns: the lanes with their events, in the same order; also those without events, which are to be ended like all others.
    func read(_ claimed: [ClaimedLane], events: Int64, bytes: Int64, deadline: ContinuousClock.Instant) async throws -> [ClaimedLane] {
        var lanes = claimed
        guard !lanes.isEmpty else { return [] }
        let read = try await pool.query(
            ReadLanes(hooks: lanes.map(\.hook.rawValue), lanes: lanes.map(\.lane), events: events, bytes: bytes), deadline: deadline)
        let eventColumns = try read.columns(of: ReadLanes.self)
        let places = Dictionary(uniqueKeysWithValues: lanes.enumerated().map { (LanePlace(hook: $1.hook.rawValue, lane: $1.lane), $0) })
        for row in read {
            guard let place = places[LanePlace(hook: try row[eventColumns.hook], lane: try row[eventColumns.lane])] else { throw MalformedAnswer() }
            lanes[place].events.append(try eventColumns.recorded(row))
        }
        return lanes
    }

    /// Reads the objects that an event concerns, as they are now.
    /// - Parameter bytes: the most bytes of metadata; a larger tree is left out.
    func complete(_ event: RecordedEvent, bytes: Int64, deadline: ContinuousClock.Instant) async throws -> RecordedEvent {
        let rows = try await pool.query(CompleteEvent(event: event, bytes: bytes), deadline: deadline)
        let columns = try rows.columns(of: CompleteEvent.self)
        guard let row = rows.first else { throw MalformedAnswer() }
        var event = event
        event.facts = try row[columns.facts]
        event.parts = try row[optional: columns.parts]
        return event
    }

    /// The bytes that hooks have waiting, in the order of apps and hooks.
    func waiting(deadline: ContinuousClock.Instant) async throws -> [WaitingBytes] {
        let rows = try await pool.query(ReadWaiting(), deadline: deadline)
        let columns = try rows.columns(of: ReadWaiting.self)
        return try rows.map { row in
            WaitingBytes(
                hook: WebhookID(rawValue: try row[columns.hook]), app: AppID(rawValue: try row[columns.app]),
                isInactive: try row[columns.isInactive], inactiveSince: try row[optional: columns.inactiveSince]?.microseconds,
                bytes: Int(try row[columns.bytes]))
        }
    }

    /// Ends the work on lanes of one claim.
    /// - Returns: those that another transaction had locked.
    func finish(_ results: [LaneResult], of claim: UUID, deadline: ContinuousClock.Instant) async throws -> [LaneResult] {
        let rows = try await pool.query(FinishLanes(claim: claim, results: results), deadline: deadline)
        let columns = try rows.columns(of: FinishLanes.self)
        return try rows.map { row in results[try Int(row[columns.place]) - 1] }
    }

    /// Removes what is needed no more, in portions. While another instance is at it, does nothing.
    /// - Returns: how many rows went.
    @discardableResult
    func sweep(keep: Duration, portion: Int64 = 1000, deadline: ContinuousClock.Instant) async throws -> Int64 {
        var (total, after): (Int64, UUID?) = (0, nil)
        repeat {
            let rows = try await pool.query(SweepHooks(keep: keep.components.seconds, limit: portion, after: after), deadline: deadline)
            let columns = try rows.columns(of: SweepHooks.self)
            guard let row = rows.first else { throw MalformedAnswer() }
            total += try row[columns.removed]
            after = try row[optional: columns.next]
        } while after != nil
        return total
    }

    /// Removes events that nothing refers to any more, in portions.
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
        logger.error("a webhook cannot be read: nothing is sent to it", metadata: ["webhook.id": "\(hook)"])
    }
}

private struct LanePlace: Hashable {
    let hook: UUID
    let lane: UUID
}

/// What one hook is owed in one conversation, or a part of it, while this instance works on it.
struct ClaimedLane: Sendable {
    let hook: WebhookID
    let lane: UUID
    let claim: UUID
    /// How often its first event has failed before.
    let failures: Int
    /// How long ago that failed first; 0: it has not.
    var failingFor = Duration.zero
    /// Claims since one that ended: those of instances that were killed.
    var lost = 0
    /// The bytes of all its events.
    var bytes = 0
    var events: [RecordedEvent] = []
}

struct RecordedEvent: Sendable {
    /// The row that hooks share.
    let row: Int64
    let app: AppID
    let position: Int64
    let number: Int64
    let kind: String
    let id: UUID
    let createdAt: StrataModel.Timestamp
    /// The conversation, or what a push goes to.
    let subject: UUID
    var facts: String
    var parts: [UInt8]?
    /// The lane it is in; nil: that of its subject.
    var lane: UUID?

    /// Whether its objects are read when it is delivered.
    var isReference: Bool {
        switch WebhookEventKind(rawValue: kind) {
        case .conversationCreated, .conversationUpdated, .participantsUpdated, .participationCreated, .participationDeleted, .messageUpdated,
            .messageDelivered, .messageRead, .partCreated, .partUpdated, .partDeleted:
            true
        case .messageCreated, .messageDeleted, .conversationDeleted, .receiptCreated, .push, nil: false
        }
    }

    /// The bytes it has in memory, about.
    var bytes: Int { facts.utf8.count + (parts?.count ?? 0) }
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
    /// When the lane goes on; nil: at once, and nothing has failed.
    var pause: Duration?
}
