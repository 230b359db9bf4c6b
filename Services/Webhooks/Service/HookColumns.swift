// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Postgres
import StrataModel

/// The columns of the statements that return hooks.
struct HookColumns: ColumnSet {
    let id: Column<UUID>
    let app: Column<UUID>
    let createdAt: Column<PostgresTimestamp>
    let version: Column<String>
    let targetURL: Column<String>
    let sealedSecret: Column<[UInt8]>
    let events: Column<[String]>
    let config: Column<String>
    let status: Column<String>
    let statusReason: Column<String>
    let verifiedAt: Column<PostgresTimestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        id = try names.column("id")
        app = try names.column("app_id")
        createdAt = try names.column("created_at")
        version = try names.column("version")
        targetURL = try names.column("target_url")
        sealedSecret = try names.column("secret")
        events = try names.column("events")
        config = try names.column("config")
        status = try names.column("status")
        statusReason = try names.column("status_reason")
        verifiedAt = try names.column("verified_at")
    }

    static func selected(of row: String = "h") -> String {
        [
            "id", "app_id", "created_at", "version", "target_url", "secret", "events", "config", "status",
            "status_reason", "verified_at",
        ]
        .map { "(\(row)).\($0)" }.joined(separator: ", ")
    }

    func hook(_ row: Row) throws -> Hook {
        guard let version = WebhookVersion(rawValue: try row[version]),
            let status = Webhook.Status(rawValue: try row[status])
        else {
            throw MalformedAnswer()
        }
        return Hook(
            webhook: Webhook(
                id: WebhookID(rawValue: try row[id]), app: AppID(rawValue: try row[app]), version: version,
                targetURL: try row[targetURL],
                events: try row[events],
                config: try JSONDecoder().decode([String: String].self, from: Data(try row[config].utf8)),
                status: status,
                statusReason: try row[optional: statusReason],
                createdAt: StrataModel.Timestamp(microseconds: try row[createdAt].microseconds)),
            sealedSecret: try row[sealedSecret],
            verifiedAt: try row[optional: verifiedAt].map { StrataModel.Timestamp(microseconds: $0.microseconds) })
    }
}

/// A webhook with its stored secret.
struct Hook: Hashable, Sendable {
    let webhook: Webhook
    /// The encrypted secret, as stored (``HookSecrets``).
    let sealedSecret: [UInt8]
    /// The time of the activation. Each activation has a different one.
    var verifiedAt: StrataModel.Timestamp?
}

/// An answer that the database functions never give. It indicates a bug in Strata.
struct MalformedAnswer: Error {}

/// The columns of ``CreateHook``.
struct CreateHookColumns: ColumnSet {
    let outcome: Column<String>
    let hookID: Column<UUID>
    let hook: HookColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        hookID = try names.column("id")
        hook = try HookColumns(&names)
    }
}

/// The columns of ``ClaimLanes``.
struct ClaimColumns: ColumnSet {
    let hook: Column<UUID>
    let lane: Column<UUID>
    let attempts: Column<Int64>
    let failing: Column<Int64>
    let lost: Column<Int64>
    let bytes: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        hook = try names.column("hook_id")
        lane = try names.column("lane")
        attempts = try names.column("attempts")
        failing = try names.column("failing_seconds")
        lost = try names.column("lost")
        bytes = try names.column("bytes")
    }
}

/// The columns of ``ReadLanes``.
struct LaneEventColumns: ColumnSet {
    let hook: Column<UUID>
    let lane: Column<UUID>
    let position: Column<Int64>
    let number: Column<Int64>
    let row: Column<Int64>
    let app: Column<UUID>
    let kind: Column<String>
    let event: Column<UUID>
    let createdAt: Column<PostgresTimestamp>
    let subject: Column<UUID>
    let facts: Column<String>
    let parts: Column<[UInt8]>
    let size: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        hook = try names.column("hook_id")
        lane = try names.column("lane")
        position = try names.column("position")
        number = try names.column("number")
        row = try names.column("event")
        app = try names.column("app_id")
        kind = try names.column("kind")
        event = try names.column("event_id")
        createdAt = try names.column("created_at")
        subject = try names.column("subject")
        facts = try names.column("facts")
        parts = try names.column("parts")
        size = try names.column("size")
    }

    func recorded(_ row: Row) throws(PostgresError) -> RecordedEvent {
        RecordedEvent(
            row: try row[self.row], app: AppID(rawValue: try row[app]), position: try row[position],
            number: try row[number], kind: try row[kind],
            id: try row[event], createdAt: StrataModel.Timestamp(microseconds: try row[createdAt].microseconds),
            subject: try row[subject],
            facts: try row[facts], parts: try row[optional: parts], lane: try row[lane])
    }
}

/// The columns of ``CompleteEvent``.
struct ContentColumns: ColumnSet {
    let facts: Column<String>
    let parts: Column<[UInt8]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        facts = try names.column("facts")
        parts = try names.column("parts")
    }
}

/// The columns of ``ReadWaiting``.
struct WaitingColumns: ColumnSet {
    let hook: Column<UUID>
    let app: Column<UUID>
    let isInactive: Column<Bool>
    let inactiveSince: Column<PostgresTimestamp>
    let bytes: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        hook = try names.column("hook_id")
        app = try names.column("app_id")
        isInactive = try names.column("is_inactive")
        inactiveSince = try names.column("inactive_since")
        bytes = try names.column("bytes")
    }
}

/// The columns of ``SweepEvents``.
struct LastEventColumns: ColumnSet {
    let last: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { last = try names.column("last") }
}

/// The columns of ``FinishLanes``.
struct FinishColumns: ColumnSet {
    let place: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { place = try names.column("n") }
}

/// The columns of ``ReadDeliveries``.
struct DeliveryColumns: ColumnSet {
    let event: Column<UUID>
    let kind: Column<String>
    let version: Column<String>
    let createdAt: Column<PostgresTimestamp>
    let attemptedAt: Column<PostgresTimestamp>
    let attempt: Column<Int64>
    let isDelivered: Column<Bool>
    let responseStatus: Column<Int64>
    let latency: Column<Int64>
    let error: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        event = try names.column("event_id")
        kind = try names.column("kind")
        version = try names.column("version")
        createdAt = try names.column("created_at")
        attemptedAt = try names.column("attempted_at")
        attempt = try names.column("attempt")
        isDelivered = try names.column("is_delivered")
        responseStatus = try names.column("response_status")
        latency = try names.column("latency_ms")
        error = try names.column("error")
    }

    func delivery(_ row: Row) throws -> WebhookDelivery {
        let kind = try row[kind]
        guard let version = WebhookVersion(rawValue: try row[version]) else { throw MalformedAnswer() }
        return WebhookDelivery(
            // The kind may be unknown, because a newer version recorded it.
            event: try row[event], type: WebhookEventKind(rawValue: kind)?.name(in: version) ?? kind,
            createdAt: StrataModel.Timestamp(microseconds: try row[createdAt].microseconds),
            attemptedAt: StrataModel.Timestamp(microseconds: try row[attemptedAt].microseconds),
            attempt: Int(try row[attempt]),
            isDelivered: try row[isDelivered], responseStatus: try row[optional: responseStatus].map { Int($0) },
            latency: .milliseconds(try row[latency]), error: try row[optional: error])
    }
}

/// The column of statements that return only an outcome.
struct OutcomeColumns: ColumnSet {
    let outcome: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) { outcome = try names.column("outcome") }
}

/// The columns of ``ResetLanes`` and ``CollectEvents``.
struct CountColumns: ColumnSet {
    let count: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { count = try names.column("count") }
}

/// The columns of ``SweepHooks``.
struct SweepColumns: ColumnSet {
    let removed: Column<Int64>
    let next: Column<UUID>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        removed = try names.column("removed")
        next = try names.column("next_after")
    }
}

/// The columns of ``ReadBacklog``.
struct BacklogColumns: ColumnSet {
    let lanes: Column<Int64>
    let failing: Column<Int64>
    let oldest: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        lanes = try names.column("lanes")
        failing = try names.column("failing")
        oldest = try names.column("oldest_seconds")
    }
}
