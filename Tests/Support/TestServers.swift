// SPDX-License-Identifier: Apache-2.0

import Foundation
public import LocalServers
import Synchronization

/// A Redis server tests may use.
public struct RedisInstance: Sendable, Equatable {
    /// Name or address.
    public let host: String
    /// TCP port.
    public let port: Int

    /// `redis://host:port`.
    public var url: String {
        "redis://\(host):\(port)"
    }
}

/// The servers tests run against: started on first use, once per process, and gone when the process is.
///
/// `STRATA_TEST_POSTGRES` (a libpq URL of a superuser, without database) and `STRATA_TEST_REDIS` (`host:port`) name servers to use instead.
public enum TestServers {
    /// The URL of a fresh, empty database; each call makes another one. The shared server does not flush to disk.
    public static func postgres() async throws -> String {
        if let base = ProcessInfo.processInfo.environment["STRATA_TEST_POSTGRES"] {
            let name = "test_\(UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: ""))"
            try await createDatabase(name, on: base)
            return base.hasSuffix("/") ? base + name : "\(base)/\(name)"
        }
        let server = try await sharedPostgres.value()
        return try await freshDatabase(on: server)
    }

    /// A fresh, empty database on a server.
    /// - Returns: its URL.
    public static func freshDatabase(on server: PrivatePostgres) async throws -> String {
        let name = "test_\(UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: ""))"
        try await server.runSQL("CREATE DATABASE \(name)")
        return server.url(database: name)
    }

    /// The shared Redis. Tests keep out of each other's way by using keys and channels of their own; no test flushes it.
    public static func redis() async throws -> RedisInstance {
        if let address = ProcessInfo.processInfo.environment["STRATA_TEST_REDIS"] {
            let parts = address.split(separator: ":")
            guard parts.count == 2, let port = Int(parts[1]) else {
                throw LocalServerError(.startFailed, "STRATA_TEST_REDIS must be host:port")
            }
            return RedisInstance(host: String(parts[0]), port: port)
        }
        let server = try await sharedRedis.value()
        return RedisInstance(host: server.host, port: server.port)
    }

    /// A PostgreSQL for one test, which may stop, kill and restart it. Stop it at the end; if the test fails first, it goes with the process.
    /// - Parameters:
    ///   - isDurable: whether commits are flushed to disk.
    ///   - settings: further settings of the server.
    ///   - wrapper: words before the server's program.
    ///   - directory: where its files are; nil makes one.
    ///   - data: of a server that is stopped: this one begins with a copy of them; nil: with an empty database.
    public static func privatePostgres(
        isDurable: Bool = false, settings: [String: String] = [:], wrapper: [String] = [], directory: String? = nil, data: String? = nil
    ) async throws -> PrivatePostgres {
        let directory = try directory ?? TestDirectory.make("postgres")
        if let data {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let exit = try await ChildProcess.run(Launch(try Programs.find("cp"), arguments: ["-a", data, directory + "/data"]))
            guard exit.isSuccess else { throw LocalServerError(.commandFailed, "cp: \(exit.output)") }
        }
        var options = PrivatePostgres.Options(directory: directory, password: nil)
        options.isDurable = isDurable
        options.settings = settings
        options.wrapper = wrapper
        let server = try await PrivatePostgres.start(options)
        TestDirectory.endAtExit(await server.process.pid)
        return server
    }

    /// A Redis for one test, which may stop, kill and restart it. Stop it at the end; if the test fails first, it goes with the process.
    /// - Parameters:
    ///   - port: the port; nil takes a free one.
    ///   - arguments: further words of its command line.
    public static func privateRedis(port: Int? = nil, arguments: [String] = []) async throws -> PrivateRedis {
        try await PrivateRedis.start(PrivateRedis.Options(directory: try TestDirectory.make("redis"), port: port, arguments: arguments))
    }

    private static let sharedPostgres = SharedOnce { try await privatePostgres() }
    private static let sharedRedis = SharedOnce { try await privateRedis() }

    private static func createDatabase(_ name: String, on base: String) async throws {
        let url = base.hasSuffix("/") ? base + "postgres" : base + "/postgres"
        let words = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", "CREATE DATABASE \(name)"]
        let exit = try await ChildProcess.run(Launch(try Programs.find("psql"), arguments: words))
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "CREATE DATABASE on STRATA_TEST_POSTGRES failed: \(exit.output)") }
    }
}
