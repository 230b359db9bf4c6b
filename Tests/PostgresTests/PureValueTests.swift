// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Postgres

struct ResponseWaitTests {
    let start = ContinuousClock.now

    @Test("a response wait lasts until the deadline, cancels once, then closes the connection")
    func phases() {
        let deadline = start.advanced(by: .seconds(2))
        var wait = ResponseWait(sentAt: start, deadline: deadline, longest: .seconds(5), grace: .seconds(1))
        #expect(wait.next(now: start) == .wait(until: deadline))
        #expect(!wait.isCancelling)
        #expect(wait.next(now: deadline) == .cancel)
        #expect(wait.isCancelling)
        #expect(wait.next(now: deadline) == .wait(until: deadline.advanced(by: .seconds(1))))
        #expect(wait.cancel(now: deadline) == .wait(until: deadline.advanced(by: .seconds(1))))
        #expect(wait.next(now: deadline.advanced(by: .seconds(1))) == .abandon)
    }

    @Test("a healthy group gets its minimum time even when a deadline is nearer")
    func minimum() {
        var wait = ResponseWait(
            sentAt: start, deadline: start.advanced(by: .milliseconds(1)), longest: nil, grace: .seconds(1))
        #expect(wait.next(now: start) == .wait(until: start.advanced(by: ResponseWait.minimum)))
    }

    @Test("the longest time limits any deadline, and a wait without either is unlimited")
    func longest() {
        var capped = ResponseWait(
            sentAt: start, deadline: start.advanced(by: .seconds(60)), longest: .seconds(5), grace: .seconds(1))
        #expect(capped.next(now: start) == .wait(until: start.advanced(by: .seconds(5))))
        var unlimited = ResponseWait(sentAt: start, deadline: nil, longest: nil, grace: .seconds(1))
        #expect(unlimited.next(now: start.advanced(by: .seconds(9999))) == .wait(until: nil))
        #expect(unlimited.cancel(now: start) == .cancel)
    }
}

struct EncodedParametersTests {
    @Test(
        "a NUL character is refused, and the error names the parameter and no value",
        arguments: [Value.text("se\0cret"), .jsonb("\"se\0cret\""), .textArray(["a", nil, "se\0cret"])])
    func nul(value: Value) throws {
        let error = try #require(throws: PostgresError.self) {
            try EncodedParameters([.int8(1), value], statement: "insert")
        }
        #expect(error.code == .invalidParameter)
        #expect(error.reason == "parameter 2 contains a NUL character")
        #expect(error.statement == "insert")
        #expect(!"\(error)".contains("cret"))
    }

    @Test("a zero byte in binary data is valid")
    func zeroBytes() throws {
        #expect(try EncodedParameters([.bytes([0, 0])], statement: "x").count == 1)
    }

    @Test("more parameters than the protocol allows are refused")
    func tooMany() throws {
        let error = try #require(throws: PostgresError.self) {
            try EncodedParameters(Array(repeating: .null, count: 65_536), statement: "x")
        }
        #expect(error.code == .invalidParameter)
    }
}

struct LockKeyTests {
    @Test("the lock key of an identifier is stable across processes and versions")
    func stable() throws {
        let uuid = try #require(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF"))
        #expect(UInt64(hashing: uuid) == LockKeyTests.reference(0x0123_4567_89AB_CDEF, 0x0123_4567_89AB_CDEF))
        #expect(UInt64(hashing: UUID()) != UInt64(hashing: UUID()))
    }

    private static func reference(_ high: UInt64, _ low: UInt64) -> UInt64 {
        let first = high ^ (low &* 0x9E37_79B9_7F4A_7C15)
        let second = (first ^ (first >> 32)) &* 0xD6E8_FEB8_6659_FD93
        return second ^ (second >> 32)
    }
}

struct TimestampTests {
    @Test(
        "infinities and extreme values survive a round trip",
        arguments: [Int64.max, .min, 0, 1, -1, 946_684_800_000_000, 253_402_300_799_999_999])
    func binary(microseconds: Int64) {
        let timestamp = PostgresTimestamp(microseconds: microseconds)
        #expect(PostgresTimestamp(binary: timestamp.binary) == timestamp)
    }
}

struct PostgresErrorTests {
    @Test("a printed error never contains the server's text")
    func redaction() {
        let error = PostgresError(
            code: .server, sqlState: "23505", statement: "insert", serverDetail: "Key (text)=(secret) already exists")
        var dumped = ""
        dump(error, to: &dumped)
        for text in [
            "\(error)", String(reflecting: error), "\([error])", dumped, String(describing: error as any Error),
        ] {
            #expect(!text.contains("secret"))
        }
        #expect("\(error)".contains("23505"))
        #expect(!error.isRetryable)
        #expect(PostgresError(code: .server, sqlState: "40P01").isRetryable)
        #expect(PostgresError(code: .connectionUnavailable).isRetryable)
        #expect(!PostgresError(code: .fateUnknown).isRetryable)
    }
}

struct ConfigurationTests {
    @Test(
        "an unparsable URL is refused, and the error does not repeat it",
        arguments: ["postgresql://user:secret@host/db?nonsense=secret", "secret", "a\0b"])
    func invalid(url: String) throws {
        let error = try #require(throws: PostgresError.self) { try PostgresConfiguration(url: url) }
        #expect(error.code == .configuration)
        #expect(!"\(error)".contains("secret"))
    }

    @Test("a printed configuration has no URL in it")
    func redaction() throws {
        let configuration = try PostgresConfiguration(url: "postgresql://user:secret@localhost/db")
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!"\(configuration) \(dumped) \(String(reflecting: configuration))".contains("secret"))
    }

    @Test("a value out of range is refused by name when the pool starts")
    func ranges() async throws {
        var configuration = try PostgresConfiguration(url: "postgresql://localhost/db")
        configuration.connections = 0
        let pool = PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger)
        let error = await #expect(throws: PostgresError.self) { try await pool.run() }
        #expect(error?.code == .configuration)
        #expect(error?.reason?.contains("connections") == true)
    }
}

struct MigrationPlanTests {
    private func plan(_ migrations: [Migration], applied: [Int: String] = [:]) throws(PostgresError) -> [Int] {
        let checksums = Dictionary(migrations.map { ($0.version, "sum of " + $0.sql) }) { first, _ in first }
        let names = [1: "one", 2: "two", 3: "three"]
        let recorded = Dictionary(
            uniqueKeysWithValues: applied.map {
                ($0, MigrationPlan.Applied(name: names[$0] ?? "unknown", checksum: $1))
            })
        return try MigrationPlan(migrations, applied: recorded, checksums: checksums).pending.map(\.version)
    }

    private let one = Migration(version: 1, name: "one", sql: "a")
    private let two = Migration(version: 2, name: "two", sql: "b")
    private let three = Migration(version: 3, name: "three", sql: "c")

    @Test("missing migrations are applied in version order, and newer ones are ignored")
    func pending() throws {
        #expect(try plan([three, one, two]) == [1, 2, 3])
        #expect(try plan([one, two, three], applied: [1: "sum of a"]) == [2, 3])
        #expect(try plan([one], applied: [1: "sum of a", 2: "whatever"]) == [])
    }

    @Test("a changed, late or duplicate migration is an error that names it")
    func refusals() throws {
        #expect(
            try #require(throws: PostgresError.self) { try plan([one, two], applied: [1: "other"]) }.reason?
                .contains("1 (one) was changed") == true)
        #expect(
            try #require(throws: PostgresError.self) { try plan([one, two], applied: [2: "sum of b"]) }.reason?
                .contains("1 (one) comes too late")
                == true)
        #expect(
            try #require(throws: PostgresError.self) { try plan([one, one]) }.reason?.contains("same version") == true)
        #expect(throws: PostgresError.self) { try plan([Migration(version: 0, name: "zero", sql: "")]) }
    }

    @Test("a database whose migrations have other names is refused")
    func otherMigrations() throws {
        let baseline = Migration(version: 1, name: "baseline", sql: "a")
        let error = try #require(throws: PostgresError.self) {
            try plan([baseline, two], applied: [1: "sum of a", 2: "sum of b"])
        }
        #expect(error.code == .otherSchema)
        #expect(error.reason == "migration 1 (baseline) is one in this database")
    }
}
