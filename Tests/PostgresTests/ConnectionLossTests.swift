// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ServiceLifecycle
import TestSupport
import TestTiers
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(3)))
struct ConnectionLossTests {
    private func withProxy(
        _ mode: PostgresPool.Mode = .grouping, setUp: String? = nil,
        configure: @escaping (inout PostgresConfiguration) -> Void = { _ in },
        _ body: (PostgresPool, FaultProxy) async throws -> Void
    ) async throws {
        let direct = try await TestDatabase.url()
        var components = try #require(URLComponents(string: direct))
        let proxy = try FaultProxy(to: UInt16(components.port ?? 5432))
        defer { proxy.close() }
        components.host = "127.0.0.1"
        components.port = Int(proxy.port)
        try await withPool(
            mode, url: components.string, setUp: setUp,
            configure: {
                $0.connections = 1
                configure(&$0)
            }
        ) { try await body($0, proxy) }
    }

    @Test("a write on a terminated backend has an unknown fate, and the next call succeeds")
    func terminatedWrite() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            let pid = try await pool.value("SELECT pg_backend_pid()", as: Int32.self)
            try await Gate.closed { gate async throws in
                let task = Task { await failure { () throws(PostgresError) in try await gate.pass(pool) } }
                try await eventually { try await gate.waiting() == 1 }
                try await gate.keeper.sql("SELECT pg_terminate_backend($1)", [.int4(pid)])
                let error = await task.value
                #expect(error?.code == .fateUnknown)
                #expect(error?.isRetryable == false)
            }
            #expect(try await pool.value("SELECT pg_backend_pid()", as: Int32.self) != pid)
        }
    }

    @Test("an idempotent statement on a terminated backend is repeated on a new connection")
    func terminatedRead() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            let pid = try await pool.value("SELECT pg_backend_pid()", as: Int32.self)
            try await Gate.closed { gate async throws in
                async let passing: Void = gate.pass(pool, idempotent: true)
                try await eventually { try await gate.waiting() == 1 }
                try await gate.keeper.sql("SELECT pg_terminate_backend($1)", [.int4(pid)])
                try await eventually {
                    try await gate.keeper.value(
                        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", [.int4(pid)], as: Int.self) == 0
                }
                try await eventually { try await gate.waiting() == 1 }
                try await gate.open()
                try await passing
            }
        }
    }

    @Test("connections that were terminated while idle make no statement fail")
    func terminatedIdle() async throws {
        try await withPool(setUp: GroupingTests.table, configure: { $0.connections = 1 }) { pool async throws in
            try await Gate.closed { gate async throws in
                for turn in 0..<5 {
                    let pid = try await pool.value("SELECT pg_backend_pid()", as: Int32.self)
                    try await gate.keeper.sql("SELECT pg_terminate_backend($1)", [.int4(pid)])
                    try await eventually {
                        try await gate.keeper.value(
                            "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", [.int4(pid)], as: Int.self) == 0
                    }
                    try await pool.sql("INSERT INTO item VALUES ($1, 1)", [.int8(Int64(turn))])
                }
            }
            #expect(try await pool.value("SELECT count(*) FROM item") == 5)
        }
    }

    @Test("calls fail at once while PostgreSQL is down, and succeed afterwards with the same pool")
    func away() async throws {
        try await withProxy { pool, proxy async throws in
            try await pool.sql("SELECT 1")
            proxy.refuse(true)
            proxy.cut()
            try await eventually { await pool.error("SELECT 1")?.code == .connectionUnavailable }
            #expect(await pool.isReachable(deadline: .now.advanced(by: .seconds(30))) == false)
            proxy.refuse(false)
            try await eventually { await pool.isReachable(deadline: .now.advanced(by: .seconds(30))) }
            try await pool.sql("SELECT 1")
        }
    }

    @Test("calls fail at once if the server never existed")
    func neverThere() async throws {
        var configuration = try PostgresConfiguration(url: "postgresql://127.0.0.1:1/none?user=none")
        configuration.connections = 2
        try await running(PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger)) {
            pool async throws in
            #expect(await pool.error("SELECT 1")?.code == .connectionUnavailable)
        }
    }

    @Test("a pool recovers after its server was killed and restarted")
    func serverRestart() async throws {
        let server = try await TestServers.privatePostgres(isDurable: true)
        var configuration = try await TestDatabase.configuration(url: try await TestServers.freshDatabase(on: server))
        configuration.connections = 4
        try await Migrator(configuration: configuration).execute(script: GroupingTests.table)
        try await running(PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger)) {
            pool async throws in
            try await pool.sql("INSERT INTO item VALUES (1, 1)")
            await server.kill()
            var last: PostgresError?
            try await eventually("the last error: \(String(describing: last))") {
                last = await pool.error("SELECT 1")
                return last?.code == .connectionUnavailable
            }
            try await server.restart()
            try await eventually { await pool.isReachable(deadline: .now.advanced(by: .seconds(30))) }
            try await pool.sql("INSERT INTO item VALUES (2, 1)")
            #expect(try await pool.value("SELECT count(*) FROM item") == 2)
        }
        await server.stop()
    }

    @Test("every write of a group on a cut connection has an unknown fate, and reads are repeated")
    func cutGroup() async throws {
        try await withProxy { pool, proxy async throws in
            try await Gate.closed { inner async throws in
                try await Gate.closed { outer async throws in
                    try await withThrowingTaskGroup(of: PostgresError?.self) { tasks in
                        tasks.addTask {
                            try await outer.pass(pool)
                            return nil
                        }
                        try await eventually { try await outer.waiting() == 1 }
                        tasks.addTask { await failure { () throws(PostgresError) in try await inner.pass(pool) } }
                        tasks.addTask { await pool.error("SELECT 'write'") }
                        tasks.addTask { await pool.error("SELECT 'read'", idempotent: true) }
                        try await eventually { pool.core.queueDepth == 3 }
                        try await outer.open()
                        try await eventually { try await inner.waiting() == 1 }
                        proxy.cut()
                        var errors: [PostgresError] = []
                        for try await error in tasks { error.map { errors.append($0) } }
                        #expect(errors.map(\.code) == [.fateUnknown, .fateUnknown])
                    }
                }
            }
        }
    }

    @Test("a network that drops all packets blocks no thread, and the connection is closed after the grace period")
    func blackHole() async throws {
        try await withProxy(configure: {
            $0.cancelGrace = .milliseconds(200); $0.connectTimeout = .seconds(1)
        }) { pool, proxy async throws in
            try await eventually { await pool.isReachable(deadline: .now.advanced(by: .seconds(30))) }
            proxy.stall(true)
            let error = await pool.error("SELECT 2", within: .milliseconds(200))
            #expect(error?.code == .fateUnknown)
            try await eventually { await pool.error("SELECT 1")?.code == .connectionUnavailable }
            proxy.stall(false)
            proxy.cut()
            try await eventually { await pool.isReachable(deadline: .now.advanced(by: .seconds(30))) }
        }
    }

    @Test("a graceful shutdown finishes queued requests, then closes")
    func gracefulShutdown() async throws {
        try await TestDatabase.withSchema { schema async throws in
            var configuration = try await TestDatabase.configuration()
            configuration.connections = 1
            configuration.searchPath = [schema]
            let pool = PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger)
            let group = ServiceGroup(
                configuration: .init(services: [.init(service: pool)], logger: TestDatabase.logger))
            let run = Task { try await group.run() }
            try await pool.sql(GroupingTests.table)
            try await Gate.closed { gate async throws in
                try await withThrowingTaskGroup(of: Int.self) { tasks in
                    tasks.addTask {
                        try await gate.pass(pool)
                        return 0
                    }
                    try await eventually { try await gate.waiting() == 1 }
                    for index in 0..<50 {
                        tasks.addTask {
                            try await pool.sql("INSERT INTO item VALUES ($1, 1)", [.int8(Int64(index))]).affectedRows
                        }
                    }
                    try await eventually { pool.core.queueDepth == 50 }
                    await group.triggerGracefulShutdown()
                    try await eventually { pool.core.lifecycle == .draining }
                    #expect(await pool.error("SELECT 1")?.code == .closed)
                    try await gate.open()
                    var inserted = 0
                    for try await count in tasks { inserted += count }
                    #expect(inserted == 50)
                }
            }
            try await run.value
            #expect(await pool.error("SELECT 1")?.code == .closed)
        }
    }
}
