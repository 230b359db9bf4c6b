// SPDX-License-Identifier: Apache-2.0

import Metrics
import NetKit

/// The metrics of a pool, shared by its threads. Labels are names from our own code, never values.
struct PoolMetrics: Sendable {
    let pool: String
    private let queueDepth: Gauge
    private let queueBytes: Gauge
    private let refused: Counter
    private let isUp: Gauge
    private let groupSize: Recorder
    private let reconnects: Counter
    private let reruns: Counter

    init(pool: String) {
        self.pool = pool
        let dimensions = [("pool", pool)]
        isUp = Gauge(label: "strata_process_dependency_up", dimensions: [("dependency", "postgres")] + dimensions)
        isUp.record(0)
        queueBytes = Gauge(label: "strata_postgres_queue_bytes", dimensions: dimensions)
        refused = Counter(label: "strata_postgres_refused_total", dimensions: dimensions)
        queueDepth = Gauge(label: "strata_postgres_queue_depth", dimensions: dimensions)
        groupSize = Recorder(label: "strata_postgres_group_size", dimensions: dimensions, aggregate: true)
        reconnects = Counter(label: "strata_postgres_reconnects_total", dimensions: dimensions)
        reruns = Counter(label: "strata_postgres_group_reruns_total", dimensions: dimensions)
    }

    func queued(_ count: Int, bytes: Int) {
        queueDepth.record(count)
        queueBytes.record(bytes)
    }

    /// Records whether PostgreSQL is available. A lost connection counts as available until reconnecting has failed.
    func available(_ value: Bool) { isUp.record(value ? 1 : 0) }

    func grouped(_ count: Int) { groupSize.record(count) }

    func reconnected() { reconnects.increment() }

    func reran() { reruns.increment() }

    /// Counts a failure. Failures are rare, so the counter is looked up each time.
    func failed(_ statement: String, with code: PostgresError.Code) {
        if code == .queueFull { refused.increment() }
        Counter(
            label: "strata_postgres_failures_total",
            dimensions: [("pool", pool), ("statement", statement), ("code", code.description)]
        )
        .increment()
    }
}

/// The statement timers of one thread. A timer is found without locking.
struct StatementTimers {
    private let pool: String
    private var timers: [String: Timer] = [:]

    init(pool: String) {
        self.pool = pool
    }

    /// Records the time from the call to its response.
    mutating func record(_ statement: String, duration: Duration) {
        timer(statement).recordNanoseconds(duration.wholeNanoseconds)
    }

    private mutating func timer(_ statement: String) -> Timer {
        if let known = timers[statement] { return known }
        let timer = Timer(
            label: "strata_postgres_statement_duration_seconds",
            dimensions: [("pool", pool), ("statement", statement)],
            preferredDisplayUnit: .seconds)
        timers[statement] = timer
        return timer
    }
}
