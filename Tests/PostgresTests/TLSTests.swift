// SPDX-License-Identifier: Apache-2.0

import Glibc
import LocalServers
import TestSupport
import Testing

@testable import Postgres

@Suite("TLS", .timeLimit(.minutes(3)))
struct TLSTests {
    @Test(
        "many concurrent and long statements run over TLS; a certificate of an unknown issuer or another name is refused"
    )
    func all() async throws {
        let files = try TestIdentity(names: ["localhost"]).files()
        // PostgreSQL requires that only its own user can read the key.
        chmod(files.key, 0o600)
        if let user = SystemUser.forPostgres { chown(files.key, user.uid, user.gid) }
        let server = try await TestServers.privatePostgres(settings: [
            "ssl": "on", "ssl_cert_file": files.certificate, "ssl_key_file": files.key,
        ])
        let url = { (host: String, authority: String) in
            "postgresql://\(PrivatePostgres.superuser)@\(host):\(server.port)/postgres?sslmode=verify-full&sslrootcert=\(authority)"
        }
        let configuration = try await TestDatabase.configuration(url: url("localhost", files.certificate))
        try await Migrator(configuration: configuration).execute(script: GroupingTests.table)
        try await running(PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger)) {
            pool async throws in
            #expect(try await pool.value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
            try await withThrowingTaskGroup { tasks in
                for index in 0..<500 {
                    tasks.addTask { try await pool.sql("INSERT INTO item VALUES ($1, 1)", [.int8(Int64(index))]) }
                }
                try await tasks.waitForAll()
            }
            #expect(try await pool.value("SELECT count(*) FROM item") == 500)
            let long = String(repeating: "text", count: 500_000)
            #expect(try await pool.value("SELECT $1::text", [.text(long)]) == long)
        }
        let stranger = try TestIdentity(names: ["localhost"]).files().certificate
        for refused in [url("localhost", stranger), url("127.0.0.1", files.certificate)] {
            let configuration = try await TestDatabase.configuration(url: refused)
            try await running(PostgresPool(configuration: configuration, mode: .grouping, logger: TestDatabase.logger))
            { pool async throws in
                #expect(await pool.error("SELECT 1")?.code == .connectionUnavailable)
            }
        }
        await server.stop()
    }
}
