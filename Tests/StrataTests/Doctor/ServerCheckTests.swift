// SPDX-License-Identifier: Apache-2.0

import LocalServers
import Testing

@testable import StrataCommand

@Suite("the doctor's check of a server")
struct ServerCheckTests {
    private let postgres = ServerCheck(subject: "PostgreSQL", products: [.postgres], package: "postgresql")
    private let redis = ServerCheck(subject: "Redis", products: [.redis, .valkey], package: "redis-server")

    private func program(_ output: String) throws -> InstalledProgram {
        InstalledProgram(path: "/bin/server", version: try #require(ProgramVersion(in: output)), output: output)
    }

    @Test("the check reports the version, the tested versions and that no update is known")
    func current() throws {
        let check = postgres.judge(try program("postgres (PostgreSQL) 15.20"), update: .none(package: "postgresql-15"))
        #expect(check == .fine("PostgreSQL", finding: "15.20, /bin/server; tested with 15, 17; no update known to apt"))
    }

    @Test("the check reports how to install a security update")
    func securityUpdate() throws {
        let update = PackageUpdate.available(package: "postgresql-15", version: "15.20-0+deb12u1", isSecurity: true)
        let check = postgres.judge(try program("postgres (PostgreSQL) 15.18"), update: update)
        #expect(check.verdict == .notice)
        #expect(
            check.finding == "15.18, /bin/server; tested with 15, 17; security update known to apt: 15.20-0+deb12u1")
        #expect(check.remedy == "apt-get install --only-upgrade postgresql-15")
    }

    @Test("the check reports unknown updates without a package")
    func unknown() throws {
        let check = redis.judge(try program("Redis server v=7.0.15 sha=0 bits=64"), update: .unknown)
        #expect(check == .fine("Redis", finding: "7.0.15, /bin/server; tested with 7, 8; updates: unknown"))
    }

    @Test("the check distinguishes Valkey from Redis")
    func valkey() throws {
        let valkey = ServerVersions.valkey
        let check = redis.judge(try program("Valkey server v=9.1.2 sha=0 bits=64"), update: .unknown)
        #expect(check.finding.hasPrefix("Valkey 9.1.2, /bin/server; \(valkey.summary)"))
        #expect((check.verdict == .fine) == valkey.tested.contains(9))
    }

    @Test("the check reports an untested version")
    func untested() throws {
        let check = postgres.judge(try program("postgres (PostgreSQL) 19.1"), update: .unknown)
        #expect(check.verdict == .notice)
        #expect(check.finding == "19.1, /bin/server; tested with 15, 17, not with 19; updates: unknown")
    }

    @Test("the check refuses a version that is too old")
    func tooOld() throws {
        let check = postgres.judge(try program("postgres (PostgreSQL) 14.9"), update: .unknown)
        #expect(check.verdict == .bad)
        #expect(check.finding == "14.9 at /bin/server is too old; 15 is needed")
    }

    @Test("the check names the package of a missing server")
    func missing() async {
        let check = await postgres.examine { try Programs.find("no-such-program-of-ours") }
        #expect(check == .bad("PostgreSQL", finding: "not found", remedy: "apt-get install postgresql"))
    }
}
