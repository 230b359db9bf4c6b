// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import Logging
import Postgres

/// Statements of 64 tasks through the pool, compared with `pgbench -M prepared` on the same tables in the same run.
enum PostgresBench {
    private static let rows = 100_000
    private static let hotRows = 50
    private static let tasks = 64

    /// Runs the benchmark and returns the lines to print. It takes about twelve times `seconds`, and drops its tables
    /// at the end.
    static func run(postgresURL: String, seconds: Double) async throws -> [String] {
        let schema = "bench_\(UInt32.random(in: 0...UInt32.max))"
        let migrator = Migrator(configuration: try PostgresConfiguration(url: postgresURL))
        do {
            try await migrator.execute(script: tables(schema))
            var lines: [String] = []
            for workload in [Workload.update, .select, .hotUpdate] {
                lines += try await measure(workload, schema: schema, url: postgresURL, seconds: seconds)
            }
            try await migrator.execute(script: "DROP SCHEMA \(schema) CASCADE")
            return lines
        } catch {
            try? await migrator.execute(script: "DROP SCHEMA \(schema) CASCADE")
            throw error
        }
    }

    private enum Workload: String {
        case update, select
        case hotUpdate = "update of 50 hot rows"

        var isRead: Bool { self == .select }

        var wanted: String {
            switch self {
            case .update: "wanted: 3.00 or more"
            case .select: "wanted: 2.00 or more"
            case .hotUpdate: "wanted: no deadlock"
            }
        }

        var range: Int { self == .hotUpdate ? hotRows : rows }

        /// Returns the statement. The key is `$1` for the pool, `:id` for pgbench.
        func sql(_ schema: String, id: String) -> String {
            isRead
                ? "SELECT id, owner, title, meta, version FROM \(schema).item WHERE id = \(id)"
                : "UPDATE \(schema).item SET title = 'changed', version = version + 1 WHERE id = \(id) RETURNING id, version"
        }
    }

    private static func tables(_ schema: String) -> String {
        """
        CREATE SCHEMA \(schema);
        CREATE TABLE \(schema).item (
            id int8 PRIMARY KEY, owner uuid NOT NULL, title text NOT NULL, meta jsonb NOT NULL, version int8 NOT NULL DEFAULT 0
        ) WITH (fillfactor = 70);
        INSERT INTO \(schema).item
            SELECT g, gen_random_uuid(), 'title ' || g, jsonb_build_object('note', repeat('x', 200), 'number', g) FROM generate_series(1, \(rows)) g;
        ANALYZE \(schema).item;
        """
    }

    private struct Figures {
        var rate: Double
        /// The CPU time of this process per statement, in microseconds.
        var microseconds: Double
        var deadlocks = 0
        /// The average number of statements in one transaction.
        var group = 0.0
    }

    private static func measure(
        _ workload: Workload, schema: String, url: String, seconds: Double
    ) async throws -> [String] {
        var lines: [String] = []
        var reference = 0.0
        for clients in [8, 64] {
            let rate = try await pgbench(workload, clients: clients, schema: schema, url: url, seconds: seconds)
            lines.append("postgres \(workload.rawValue): pgbench -M prepared -c \(clients) rate=\(Int(rate))/s")
            reference = max(reference, rate)
        }
        for connections in [1, 2, 4, 8] {
            let figures = try await measurePool(
                workload, connections: connections, schema: schema, url: url, seconds: seconds)
            let ratio = rounded(figures.rate / max(reference, 1))
            lines.append(
                "postgres \(workload.rawValue): tasks=\(tasks) connections=\(connections) rate=\(Int(figures.rate))/s "
                    + "cpu=\(rounded(figures.microseconds)) us/statement group=\(rounded(figures.group)) deadlocks=\(figures.deadlocks) ratio=\(ratio) (\(workload.wanted))"
            )
        }
        return lines
    }

    private static func rounded(_ value: Double) -> String { String(format: "%.2f", value) }

    // MARK: The pool

    private static func measurePool(
        _ workload: Workload, connections: Int, schema: String, url: String, seconds: Double
    ) async throws -> Figures {
        var configuration = try PostgresConfiguration(url: url)
        configuration.connections = connections
        configuration.applicationName = "strata-bench"
        let pool = PostgresPool(configuration: configuration, mode: .grouping, logger: Logger(label: "bench"))
        let run = Task { try await pool.run() }
        do {
            let before = try await counters(url)
            var (figures, count) = try await load(workload, pool, schema: schema, seconds: seconds)
            run.cancel()
            try await run.value
            let after = try await counters(url)
            figures.deadlocks = after.deadlocks - before.deadlocks
            figures.group = Double(count) / Double(max(after.commits - before.commits, 1))
            return figures
        } catch {
            run.cancel()
            _ = await run.result
            throw error
        }
    }

    private static func load(
        _ workload: Workload, _ pool: PostgresPool, schema: String, seconds: Double
    ) async throws -> (Figures, Int) {
        let statement = Statement("bench", sql: workload.sql(schema, id: "$1"), isIdempotent: workload.isRead)
        let start = ContinuousClock.now
        let end = start.advanced(by: .seconds(seconds))
        let processor = processorTime()
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<tasks {
                group.addTask { try await work(workload, statement, pool, seed: UInt64(task) &+ 1, until: end) }
            }
            return try await group.reduce(into: 0) { $0 += $1 }
        }
        let elapsed = start.duration(to: .now) / .seconds(1)
        let used = processorTime() - processor
        return (Figures(rate: Double(count) / elapsed, microseconds: used * 1e6 / Double(max(count, 1))), count)
    }

    private static func work(
        _ workload: Workload, _ statement: Statement, _ pool: PostgresPool, seed: UInt64,
        until end: ContinuousClock.Instant
    ) async throws -> Int {
        var count = 0
        var now = ContinuousClock.now
        // A simple generator, because the system's generator makes a system call for each number, which would distort
        // the measurement.
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        while now < end {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let id = Int64((state >> 33) % UInt64(workload.range)) + 1
            let answer = try await pool.query(
                statement, with: [.int8(id)], lockKey: workload.isRead ? nil : UInt64(id),
                deadline: now.advanced(by: .seconds(10)))
            let key = try answer.first?.get(0, as: Int64.self)
            guard key == id else { throw PostgresError(code: .decoding, reason: "another row than the one asked for") }
            count += 1
            now = .now
        }
        return count
    }

    /// Returns the server's statistics of the database. Sessions report them when they end.
    private static func counters(_ url: String) async throws -> (commits: Int, deadlocks: Int) {
        let statement = Statement(
            "counters", sql: "SELECT xact_commit, deadlocks FROM pg_stat_database WHERE datname = current_database()",
            isIdempotent: true)
        let pool = PostgresPool(
            configuration: try PostgresConfiguration(url: url), mode: .exclusive, logger: Logger(label: "bench"))
        let run = Task { try await pool.run() }
        defer { run.cancel() }
        let row = try await pool.query(statement, deadline: .now.advanced(by: .seconds(10))).first
        return (try row?.get(0) ?? 0, try row?.get(1) ?? 0)
    }

    private static func processorTime() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(0), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    // MARK: pgbench

    private static func pgbench(
        _ workload: Workload, clients: Int, schema: String, url: String, seconds: Double
    ) async throws -> Double {
        let script = NSTemporaryDirectory() + "/strata-bench-\(UUID().uuidString).sql"
        try "\\set id random(1, \(workload.range))\n\(workload.sql(schema, id: ":id"));\n"
            .write(toFile: script, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: script) }
        let time = max(1, Int(seconds.rounded()))
        let words = ["-n", "-M", "prepared", "-c", "\(clients)", "-j", "2", "-T", "\(time)", "-f", script, url]
        let launch = Launch(
            try Programs.findPostgres("pgbench"), arguments: words, deathSignal: .kill, output: .capture(limit: 65_536))
        let exit = try await ChildProcess.run(launch, timeout: .seconds(time + 60))
        // "tps = 1234.5 (without initial connection time)"
        let line = exit.output.split(separator: "\n").first { $0.hasPrefix("tps = ") }
        guard exit.isSuccess, let word = line?.split(separator: " ").dropFirst(2).first, let rate = Double(word) else {
            throw LocalServerError(.commandFailed, "pgbench failed")
        }
        return rate
    }
}
