// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

// The statements of the service. The functions of schema `webhooks` (Shared/Schema) document their guarantees.

struct CreateHook: PostgresQuery {
    let webhook: Webhook
    let sealedSecret: [UInt8]
    let kinds: [WebhookEventKind]
    let config: String
    let limit: Int
    let lease: Int64
    /// The server token that registers the hook; nil if it is not known.
    let token: UUID?

    static let statement = Statement(
        "webhooks.create",
        sql: """
            SELECT r.outcome, \(HookRow.selected(of: "r.hook"))
            FROM webhooks.create_hook(
                $1, $2, $3, $4, $5, $6::text[], $7::text[], $8::jsonb, $9::int8, $10::int8, $11::uuid) r
            """, isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(webhook.app.rawValue), .uuid(webhook.id.rawValue), .text(webhook.version.rawValue),
            .text(webhook.targetURL),
            .bytes(sealedSecret), .textArray(webhook.events), .textArray(kinds.map(\.rawValue)), .jsonb(config),
            .int8(Int64(limit)), .int8(lease),
            Value(token),
        ]
    }

    struct Row: Decodable {
        let outcome: String
        let hook: HookRow?
    }
}

struct ReadHooks: PostgresQuery {
    let app: AppID
    /// The hook to read; nil for all hooks of the app.
    let id: WebhookID?

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.read",
        sql: """
            SELECT \(HookRow.selected()) FROM webhooks.hook h
            WHERE h.app_id = $1 AND ($2::uuid IS NULL OR h.id = $2::uuid)
            ORDER BY h.created_at, h.id
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), Value(id?.rawValue)] }
}

struct ReadActiveHooks: PostgresQuery {
    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.read_active",
        sql: """
            SELECT \(HookRow.selected()) FROM webhooks.hook h
            WHERE h.status = 'active' AND NOT conversations.is_away(h.app_id)
            """, isIdempotent: true)

    var parameters: [Value] { [] }
}

/// Begins a verification that the app's server requests.
struct BeginActivation: PostgresQuery {
    let app: AppID
    let id: WebhookID
    let lease: Int64

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.begin_activation",
        sql: "SELECT \(HookRow.selected()) FROM webhooks.begin_activation($1, $2, $3::int8) h", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(id.rawValue), .int8(lease)] }
}

/// Finds out whether any hook needs verification or activation.
struct FindPendingHooks: PostgresQuery {
    static let statement = Statement(
        "webhooks.find_pending",
        sql: """
            SELECT EXISTS (SELECT FROM webhooks.hook WHERE verify_at IS NOT NULL OR status = 'unverified') AS pending
            """, isIdempotent: true)

    var parameters: [Value] { [] }

    struct Row: Decodable {
        let pending: Bool
    }
}

/// Claims hooks that need verification and are claimed by no instance.
struct ClaimVerifications: PostgresQuery {
    let limit: Int64
    let lease: Int64

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.claim_verifications",
        sql: "SELECT \(HookRow.selected()) FROM webhooks.claim_verifications($1::int8, $2::int8) h")

    var parameters: [Value] { [.int8(limit), .int8(lease)] }
}

struct EndVerification: PostgresQuery {
    let id: WebhookID
    /// The reason for a refusal; nil if the receiver accepted the hook.
    let reason: String?
    let delay: Int64

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.end_verification",
        sql: "SELECT \(HookRow.selected()) FROM webhooks.end_verification($1, $2::text, $3::int8) h",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(id.rawValue), Value(reason), .int8(delay)] }
}

/// Activates hooks that were verified at least `delay` ago.
struct SettleHooks: PostgresQuery {
    let delay: Int64

    static let statement = Statement(
        "webhooks.settle", sql: "SELECT s FROM webhooks.settle($1::int8) s", isIdempotent: true)

    var parameters: [Value] { [.int8(delay)] }
}

/// Makes failed lanes due, up to a limit, for a hook that was verified and is not active yet.
struct ResetLanes: PostgresQuery {
    let limit: Int64

    static let statement = Statement(
        "webhooks.reset_lanes", sql: "SELECT r AS count FROM webhooks.reset_lanes($1::int8) r", isIdempotent: true)

    var parameters: [Value] { [.int8(limit)] }

    struct Row: Decodable {
        let count: Int64
    }
}

struct DeactivateHook: PostgresQuery {
    let app: AppID
    let id: WebhookID
    let reason: String

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.deactivate", sql: "SELECT \(HookRow.selected()) FROM webhooks.deactivate($1, $2, $3) h",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(id.rawValue), .text(reason)] }
}

/// Deactivates a hook whose receiver did not accept an event for too long.
struct GiveUpHook: PostgresQuery {
    let id: WebhookID
    let reason: String
    /// The time of the activation to end.
    let verifiedAt: StrataModel.Timestamp

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.give_up", sql: "SELECT \(HookRow.selected()) FROM webhooks.give_up($1, $2, $3) h",
        isIdempotent: true)

    var parameters: [Value] {
        [.uuid(id.rawValue), .text(reason), .timestamp(PostgresTimestamp(microseconds: verifiedAt.microseconds))]
    }
}

/// Removes a hook. Its lanes and events are swept later.
struct DeleteHook: PostgresQuery {
    let app: AppID
    let id: WebhookID

    typealias Row = OutcomeRow

    static let statement = Statement(
        "webhooks.delete",
        sql: "DELETE FROM webhooks.hook h WHERE h.app_id = $1 AND h.id = $2 RETURNING 'ok'::text AS outcome")

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(id.rawValue)] }
}

/// Claims lanes that are due. ``ReadLanes`` reads their events.
struct ClaimLanes: PostgresQuery {
    let hooks: [UUID]
    /// The maximum number of lanes, for each hook.
    let limits: [Int64]
    let total: Int64
    let claim: UUID
    let lease: Int64

    static let statement = Statement(
        "webhooks.claim",
        sql: """
            SELECT c.hook_id, c.lane, c.attempts, c.failing_seconds, c.lost, c.bytes
            FROM webhooks.claim($1::uuid[], $2::int8[], $3::int8, $4, $5::int8) c
            """)

    var parameters: [Value] { [.uuidArray(hooks), .int8Array(limits), .int8(total), .uuid(claim), .int8(lease)] }

    struct Row: Decodable {
        let hookID: WebhookID
        let lane: UUID
        let attempts: Int
        let failingSeconds: Int64
        let lost: Int
        let bytes: Int
    }
}

/// Reads the first events of claimed lanes.
struct ReadLanes: PostgresQuery {
    let hooks: [UUID]
    let lanes: [UUID]
    /// The maximum number of events, and the approximate maximum of bytes, for each lane.
    let events: Int64
    let bytes: Int64

    static let statement = Statement(
        "webhooks.read_lanes",
        sql: """
            SELECT c.hook_id, c.lane, c.position, c.number, c.event, c.app_id, c.kind, c.event_id, c.created_at,
                c.subject, c.facts, c.parts
            FROM webhooks.read_lanes($1::uuid[], $2::uuid[], $3::int8, $4::int8) c
            """, isIdempotent: true)

    var parameters: [Value] { [.uuidArray(hooks), .uuidArray(lanes), .int8(events), .int8(bytes)] }

    struct Row: Decodable {
        let hookID: WebhookID
        /// The columns of the event.
        let event: RecordedEvent
    }
}

/// Reads the current state of the objects that an event concerns.
struct CompleteEvent: PostgresQuery {
    let event: RecordedEvent
    /// The maximum size of metadata, in bytes.
    let bytes: Int64

    static let statement = Statement(
        "webhooks.complete", sql: "SELECT c.facts, c.parts FROM webhooks.complete($1, $2, $3, $4::jsonb, $5::int8) c",
        isIdempotent: true)

    var parameters: [Value] {
        [.uuid(event.app.rawValue), .uuid(event.subject), .text(event.kind), .jsonb(event.facts), .int8(bytes)]
    }

    struct Row: Decodable {
        let facts: String
        let parts: [UInt8]?
    }
}

/// Removes those of the events that no outbox and no attempt refers to.
struct CollectEvents: PostgresQuery {
    /// The row ids of the events.
    let events: [Int64]

    static let statement = Statement(
        "webhooks.collect", sql: "SELECT c AS count FROM webhooks.collect($1::int8[]) c", isIdempotent: true)

    var parameters: [Value] { [.int8Array(events)] }

    struct Row: Decodable {
        let count: Int64
    }
}

struct FinishLanes: PostgresQuery {
    let claim: UUID
    let results: [LaneResult]

    static let statement = Statement(
        "webhooks.finish",
        sql: """
            SELECT f.n
            FROM webhooks.finish($1, $2::uuid[], $3::uuid[], $4::int8[], $5::int8[], $6::int8[], $7::int8[]) f
            """,
        isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(claim), .uuidArray(results.map(\.hook.rawValue)), .uuidArray(results.map(\.lane)),
            .int8Array(results.map(\.position)),
            .int8Array(results.map(\.number)), .int8Array(results.map { Int64($0.failures) }),
            .int8Array(results.map { $0.pause.map { Int64($0 / Duration.milliseconds(1)) } ?? -1 }),
        ]
    }

    struct Row: Decodable {
        let n: Int
    }
}

struct KeepDeliveries: PostgresQuery {
    let attempts: String
    let keep: Int64

    static let statement = Statement(
        "webhooks.keep_deliveries", sql: "SELECT k FROM webhooks.keep_deliveries($1::jsonb, $2::int8) k")

    var parameters: [Value] { [.jsonb(attempts), .int8(keep)] }
}

struct ReadDeliveries: PostgresQuery {
    let app: AppID
    let id: WebhookID
    let limit: Int64

    static let statement = Statement(
        "webhooks.deliveries",
        sql: """
            SELECT d.event_id, d.kind, h.version, d.created_at, d.attempted_at, d.attempt, d.is_delivered,
                d.response_status, d.latency_ms, d.error
            FROM webhooks.hook h JOIN webhooks.delivery d ON d.hook_id = h.id
            WHERE h.app_id = $1 AND h.id = $2 ORDER BY d.number DESC LIMIT $3::int8
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(id.rawValue), .int8(limit)] }

    struct Row: Decodable {
        let eventID: UUID
        let kind: String
        let version: String
        let createdAt: StrataModel.Timestamp
        let attemptedAt: StrataModel.Timestamp
        let attempt: Int
        let isDelivered: Bool
        let responseStatus: Int?
        let latencyMs: Int64
        let error: String?

        var delivery: WebhookDelivery {
            get throws {
                guard let version = WebhookVersion(rawValue: version) else { throw MalformedAnswer() }
                return WebhookDelivery(
                    // The kind may be unknown, because a newer version recorded it.
                    event: eventID, type: WebhookEventKind(rawValue: kind)?.name(in: version) ?? kind,
                    createdAt: createdAt, attemptedAt: attemptedAt, attempt: attempt, isDelivered: isDelivered,
                    responseStatus: responseStatus, latency: .milliseconds(latencyMs), error: error)
            }
        }
    }
}

struct RedeliverEvent: PostgresQuery {
    let app: AppID
    let id: WebhookID
    let event: UUID
    /// The maximum number of events of a hook that wait to be sent again.
    let limit: Int64

    typealias Row = OutcomeRow

    static let statement = Statement(
        "webhooks.redeliver", sql: "SELECT r AS outcome FROM webhooks.redeliver($1, $2, $3, $4::int8) r")

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(id.rawValue), .uuid(event), .int8(limit)] }
}

/// Removes obsolete rows, in portions.
struct SweepHooks: PostgresQuery {
    /// The time to keep the backlog of an inactive hook, in seconds.
    let keep: Int64
    let limit: Int64
    /// The cursor; nil to start from the beginning.
    let after: UUID?

    static let statement = Statement(
        "webhooks.sweep", sql: "SELECT s.removed, s.next_after FROM webhooks.sweep($1::int8, $2::int8, $3::uuid) s",
        isIdempotent: true)

    var parameters: [Value] { [.int8(keep), .int8(limit), Value(after)] }

    struct Row: Decodable {
        let removed: Int64
        let nextAfter: UUID?
    }
}

/// Removes events that no outbox and no attempt refers to, in portions.
struct SweepEvents: PostgresQuery {
    /// The maximum number of rows to examine.
    let limit: Int64
    /// The row after which to continue; nil to start from the first one.
    let after: Int64?

    static let statement = Statement(
        "webhooks.sweep_events", sql: "SELECT s AS last FROM webhooks.sweep_events($1::int8, $2::int8) s",
        isIdempotent: true)

    var parameters: [Value] { [.int8(limit), Value(after)] }

    struct Row: Decodable {
        let last: Int64?
    }
}

/// Reads the backlog of each hook, in bytes.
struct ReadWaiting: PostgresQuery {
    typealias Row = HookBacklog

    static let statement = Statement(
        "webhooks.waiting",
        sql: "SELECT w.hook_id, w.app_id, w.is_inactive, w.inactive_since, w.bytes FROM webhooks.waiting() w",
        isIdempotent: true)

    var parameters: [Value] { [] }
}

/// Deactivates a hook because its backlog, or that of its app, is too large.
struct EndRecording: PostgresQuery {
    let id: WebhookID
    let reason: String

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.end_recording", sql: "SELECT \(HookRow.selected()) FROM webhooks.end_recording($1, $2) h",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(id.rawValue), .text(reason)] }
}

/// Lets the next sweep remove the backlog of an inactive hook.
struct DiscardBacklog: PostgresQuery {
    let id: WebhookID

    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.give_away", sql: "SELECT \(HookRow.selected()) FROM webhooks.give_away($1) h", isIdempotent: true)

    var parameters: [Value] { [.uuid(id.rawValue)] }
}

/// Deactivates the hooks of suspended apps.
struct EndSuspended: PostgresQuery {
    typealias Row = HookRow

    static let statement = Statement(
        "webhooks.end_suspended", sql: "SELECT \(HookRow.selected()) FROM webhooks.end_suspended() h",
        isIdempotent: true)

    var parameters: [Value] { [] }
}

struct ReadBacklog: PostgresQuery {
    static let statement = Statement(
        "webhooks.backlog", sql: "SELECT lanes, failing, oldest_seconds FROM webhooks.backlog()", isIdempotent: true)

    var parameters: [Value] { [] }

    struct Row: Decodable {
        let lanes: Int64
        let failing: Int64
        let oldestSeconds: Int64
    }
}
