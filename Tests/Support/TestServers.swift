// SPDX-License-Identifier: Apache-2.0

import Foundation
public import LocalServers
import Synchronization

/// A Redis server for tests.
public struct RedisInstance: Sendable, Equatable {
    /// The name or address.
    public let host: String
    /// The TCP port.
    public let port: Int

    /// The URL, `redis://host:port`.
    public var url: String {
        "redis://\(host):\(port)"
    }
}

/// The servers of the tests. They start on first use, once per process, and end with the process.
///
/// `STRATA_TEST_POSTGRES` (a libpq URL of a superuser, without database) and `STRATA_TEST_REDIS` (`host:port`) name
/// servers to use instead.
public enum TestServers {
    /// Creates an empty database and returns its URL. The shared server does not flush to disk.
    public static func postgres() async throws -> String {
        if let base = ProcessInfo.processInfo.environment["STRATA_TEST_POSTGRES"] {
            let name = "test_\(UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: ""))"
            try await createDatabase(name, on: base)
            return base.hasSuffix("/") ? base + name : "\(base)/\(name)"
        }
        let server = try await sharedPostgres.value()
        return try await freshDatabase(on: server)
    }

    /// Creates an empty database on a server.
    /// - Returns: The URL of the database.
    public static func freshDatabase(on server: PrivatePostgres) async throws -> String {
        let name = "test_\(UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: ""))"
        try await server.runSQL("CREATE DATABASE \(name)")
        return server.url(database: name)
    }

    /// Returns the shared Redis. Tests are isolated by distinct keys and channels; no test flushes the server.
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

    /// Starts a PostgreSQL for one test, which may stop, kill and restart it. The test stops it at its end. After a
    /// failed test it ends with the process.
    /// - Parameters:
    ///   - isDurable: True if commits are flushed to disk.
    ///   - settings: Additional server settings.
    ///   - wrapper: The beginning of the server's command line.
    ///   - directory: The directory of its files. nil: a new one.
    ///   - data: The data directory of a stopped server, which is copied. nil: an empty database.
    ///   - host: The host of the server.
    public static func privatePostgres(
        isDurable: Bool = false, settings: [String: String] = [:], wrapper: [String] = [], directory: String? = nil,
        data: String? = nil, on host: ServerHost = .loopback
    ) async throws -> PrivatePostgres {
        let directory = try directory ?? TestDirectory.make("postgres")
        if let data {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let exit = try await ChildProcess.run(
                Launch(try Programs.find("cp"), arguments: ["-a", data, directory + "/data"]))
            guard exit.isSuccess else { throw LocalServerError(.commandFailed, "cp: \(exit.output)") }
        }
        var options = PrivatePostgres.Options(directory: directory, password: nil)
        options.isDurable = isDurable
        options.settings = settings
        options.wrapper = wrapper
        options.host = host
        let server = try await PrivatePostgres.start(options)
        TestDirectory.endAtExit(await server.process.pid)
        return server
    }

    /// Starts a Redis for one test, which may stop, kill and restart it. The test stops it at its end. After a failed
    /// test it ends with the process.
    /// - Parameters:
    ///   - port: The port. nil: any free port.
    ///   - arguments: Additional command-line arguments.
    ///   - host: The host of the server.
    public static func privateRedis(
        port: Int? = nil, arguments: [String] = [], on host: ServerHost = .loopback
    ) async throws -> PrivateRedis {
        var options = PrivateRedis.Options(
            directory: try TestDirectory.make("redis"), port: port, arguments: arguments)
        options.host = host
        return try await PrivateRedis.start(options)
    }

    private static let sharedPostgres = SharedOnce { try await privatePostgres() }
    private static let sharedRedis = SharedOnce { try await privateRedis() }

    private static func createDatabase(_ name: String, on base: String) async throws {
        let url = base.hasSuffix("/") ? base + "postgres" : base + "/postgres"
        let words = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", "CREATE DATABASE \(name)"]
        let exit = try await ChildProcess.run(Launch(try Programs.find("psql"), arguments: words))
        guard exit.isSuccess else {
            throw LocalServerError(.commandFailed, "CREATE DATABASE on STRATA_TEST_POSTGRES failed: \(exit.output)")
        }
    }
}
