// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import Testing

@Suite("a private PostgreSQL")
struct PrivatePostgresTests {
    @Test("PostgreSQL keeps its data when it is stopped or killed")
    func keepsData() async throws {
        try await withTemporaryDirectory { directory in
            let server = try await PrivatePostgres.start(
                PrivatePostgres.Options(directory: directory + "/pg", password: "secret-word"))
            try await server.runSQL("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
            await server.stop()
            try await server.restart()
            try await server.runSQL("INSERT INTO kept VALUES (2)")
            await server.kill()
            try await server.restart()
            #expect(try await server.runSQL("SELECT sum(n) FROM kept") == "3\n")
            await server.stop()
            #expect(await !server.process.isRunning)
        }
    }

    @Test("PostgreSQL leaves nothing in shared memory when it is discarded")
    func discard() async throws {
        try await withTemporaryDirectory { directory in
            var options = PrivatePostgres.Options(directory: directory + "/pg", password: nil)
            options.isDurable = false
            let server = try await PrivatePostgres.start(options)
            let lines = try String(contentsOfFile: directory + "/pg/data/postmaster.pid", encoding: .utf8)
                .split(separator: "\n")
            let segment = try #require(
                lines.compactMap { $0.firstMatch(of: /^ *[0-9]+ +([0-9]+)$/).flatMap { Int32($0.1) } }.first)
            var state = shmid_ds()
            #expect(shmctl(segment, IPC_STAT, &state) == 0)
            await server.discard()
            #expect(shmctl(segment, IPC_STAT, &state) == -1)
            #expect(await !server.process.isRunning)
        }
    }

    @Test("PostgreSQL flushes commits, and admits no client without the password")
    func isDurableAndClosed() async throws {
        try await withTemporaryDirectory { directory in
            let server = try await PrivatePostgres.start(
                PrivatePostgres.Options(directory: directory + "/pg", password: "secret-word"))
            #expect(try await server.runSQL("SHOW fsync") == "on\n")
            #expect(try await server.runSQL("SHOW synchronous_commit") == "on\n")
            let words = ["-X", "-w", "-d", server.url(password: "another-word"), "-c", "SELECT 1"]
            let exit = try await ChildProcess.run(Launch(try Programs.findPostgres("psql"), arguments: words))
            #expect(exit.status == 2)
            #expect(exit.output.contains("password authentication failed"))
            await server.stop()
        }
    }

    @Test("PostgreSQL starts although a dead server's postmaster.pid names a running process")
    func staleLock() async throws {
        try await withTemporaryDirectory { directory in
            let options = PrivatePostgres.Options(directory: directory + "/pg", password: nil)
            let first = try await PrivatePostgres.start(options)
            await first.stop()
            let sleeper = try await ChildProcess.start(
                Launch(try Programs.find("sleep"), arguments: ["60"], user: SystemUser.forPostgres, deathSignal: .kill))
            let file = "\(sleeper.pid)\n\(directory)/pg/data\n1700000000\n\(first.port)\n\n127.0.0.1\n  0 0\nready   \n"
            try file.write(toFile: directory + "/pg/data/postmaster.pid", atomically: false, encoding: .utf8)
            let second = try await PrivatePostgres.start(options)
            #expect(try await second.runSQL("SELECT 1") == "1\n")
            #expect(sleeper.isRunning)
            await second.stop()
            await sleeper.stop()
        }
    }

    @Test("an error names the occupied port")
    func portInUse() async throws {
        try await withTemporaryDirectory { directory in
            let redis = try await PrivateRedis.start(PrivateRedis.Options(directory: directory + "/redis"))
            let error = await #expect(throws: LocalServerError.self) {
                try await PrivatePostgres.start(
                    PrivatePostgres.Options(directory: directory + "/pg", port: redis.port, password: nil))
            }
            #expect(error?.code == .portInUse)
            #expect(error?.message.contains("\(redis.port)") == true)
            await redis.stop()
        }
    }

    @Test(
        "PostgreSQL uses another directory, and keeps its data there, if its user cannot enter the first",
        .enabled(if: SystemUser.isRoot))
    func fallback() async throws {
        try await withTemporaryDirectory { directory in
            let closed = directory + "/closed"
            try FileManager.default.createDirectory(
                atPath: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let notices = Collected<String>()
            var options = PrivatePostgres.Options(directory: closed + "/pg", password: nil)
            options.notice = { notices.add($0) }
            let first = try await PrivatePostgres.start(options)
            try await first.runSQL("CREATE TABLE kept ()")
            await first.stop()
            let second = try await PrivatePostgres.start(options)
            #expect(try await second.runSQL("SELECT count(*) FROM kept") == "0\n")
            await second.stop()
            #expect(notices.all.count == 1)
            let real = try FileManager.default.destinationOfSymbolicLink(atPath: closed + "/pg")
            #expect(real.hasPrefix("/var/tmp/strata-"))
            try FileManager.default.removeItem(atPath: (real as NSString).deletingLastPathComponent)
        }
    }
}
