// SPDX-License-Identifier: Apache-2.0

import TestTiers
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(2)))
struct DeadlineTests {
    @Test("a queued request ends at its deadline while the connection is busy, and is never run")
    func queuedDeadline() async throws {
        try await withPool(setUp: GroupingTests.table, configure: { $0.connections = 1 }) { pool async throws in
            try await Gate.closed { gate async throws in
                async let passing: Void = gate.pass(pool)
                try await eventually { try await gate.waiting() == 1 }
                let error = await pool.error("INSERT INTO item VALUES (1, 1)", within: .milliseconds(50))
                #expect(error?.code == .deadlineExceeded)
                #expect(try await gate.waiting() == 1)
                #expect(pool.core.queueDepth == 0)
                try await gate.open()
                try await passing
            }
            #expect(try await pool.value("SELECT count(*) FROM item") == 0)
        }
    }

    @Test("a request with an expired deadline is refused without being sent")
    func pastDeadline() async throws {
        try await withPool { pool async throws in
            let error = await pool.error("SELECT 1", within: .zero)
            #expect(error?.code == .deadlineExceeded)
        }
    }

    @Test("a sent request is cancelled in the server at its deadline, and the connection stays")
    func sentDeadline() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            let pid = try await pool.value("SELECT pg_backend_pid()", as: Int32.self)
            try await Gate.closed { gate async throws in
                let error = await failure { () throws(PostgresError) in
                    try await gate.pass(pool, within: .milliseconds(200))
                }
                #expect(error?.code == .deadlineExceeded)
                #expect(error?.isRetryable == true)
                #expect(try await gate.waiting() == 0)
            }
            #expect(try await pool.value("SELECT pg_backend_pid()", as: Int32.self) == pid)
        }
    }

    @Test("the other members of a group run again and succeed when one member meets its deadline")
    func groupDeadline() async throws {
        try await withPool(setUp: GroupingTests.table, configure: { $0.connections = 1 }) { pool async throws in
            try await Gate.closed { inner async throws in
                let results = try await Gate.closed { outer async throws in
                    try await outer.group(pool, 3) { index throws(PostgresError) in
                        if index == 0 {
                            try await inner.pass(pool, within: .milliseconds(1500))
                        } else {
                            try await pool.sql("INSERT INTO item VALUES ($1, 1)", [.int8(Int64(index))])
                        }
                    }
                }
                #expect(throws: PostgresError.self) { try results[0].get() }
                _ = try results[1].get()
                _ = try results[2].get()
            }
            #expect(try await pool.value("SELECT count(*) FROM item") == 2)
        }
    }

    @Test("the server's own time limit ends a statement whose caller would wait longer")
    func statementTimeout() async throws {
        try await withPool(configure: { $0.statementTimeout = .milliseconds(100) }) { pool async throws in
            try await Gate.closed { gate async throws in
                let error = await failure { () throws(PostgresError) in try await gate.pass(pool) }
                #expect(error?.code == .deadlineExceeded)
                #expect(error?.sqlState == "57014")
            }
        }
    }

    @Test("a lock that is not granted in time is a retryable error")
    func lockTimeout() async throws {
        try await withPool(configure: { $0.lockTimeout = .milliseconds(100) }) { pool async throws in
            try await Gate.closed { gate async throws in
                let error = await failure { () throws(PostgresError) in try await gate.pass(pool) }
                #expect(error?.sqlState == "55P03")
                #expect(error?.isRetryable == true)
            }
        }
    }

    @Test("a queued request whose task is cancelled leaves the queue at once")
    func cancelQueued() async throws {
        try await withPool(setUp: GroupingTests.table, configure: { $0.connections = 1 }) { pool async throws in
            try await Gate.closed { gate async throws in
                async let passing: Void = gate.pass(pool)
                try await eventually { try await gate.waiting() == 1 }
                let task = Task { await pool.error("INSERT INTO item VALUES (1, 1)") }
                try await eventually { pool.core.queueDepth == 1 }
                task.cancel()
                #expect(await task.value?.code == .cancelled)
                #expect(try await gate.waiting() == 1)
                try await gate.open()
                try await passing
            }
            #expect(try await pool.value("SELECT count(*) FROM item") == 0)
        }
    }

    @Test("a sent request whose task is cancelled is cancelled in the server")
    func cancelSent() async throws {
        try await withPool(configure: { $0.connections = 1 }) { pool async throws in
            try await Gate.closed { gate async throws in
                let task = Task { await failure { () throws(PostgresError) in try await gate.pass(pool) } }
                try await eventually { try await gate.waiting() == 1 }
                task.cancel()
                #expect(await task.value?.code == .cancelled)
                try await eventually { try await gate.waiting() == 0 }
            }
            #expect(await pool.isReachable(deadline: .now.advanced(by: .seconds(30))))
        }
    }

    @Test("a request of a cancelled task is not sent")
    func cancelledBefore() async throws {
        try await withPool(setUp: GroupingTests.table) { pool async throws in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await pool.error("INSERT INTO item VALUES (1, 1)")
            }
            #expect(await task.value?.code == .cancelled)
            #expect(try await pool.value("SELECT count(*) FROM item") == 0)
        }
    }

    @Test("a full queue refuses requests at once, and accepts them again when empty")
    func queueFull() async throws {
        try await withPool(configure: {
            $0.connections = 1; $0.queueLimitStatements = 2
        }) { pool async throws in
            try await Gate.closed { gate async throws in
                async let passing: Void = gate.pass(pool)
                try await eventually { try await gate.waiting() == 1 }
                async let first = pool.sql("SELECT 1")
                async let second = pool.sql("SELECT 1")
                try await eventually { pool.core.queueDepth == 2 }
                let error = await pool.error("SELECT 1")
                #expect(error?.code == .queueFull)
                #expect(error?.isRetryable == true)
                try await gate.open()
                _ = try await (passing, first, second)
            }
            try await pool.sql("SELECT 1")
        }
    }
}
