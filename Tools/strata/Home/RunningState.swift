// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
public import Foundation

/// The content of `state.json`, in which `strata dev` describes the running system for other commands and tests. Mode
/// 0600, because it contains the database's password.
public struct RunningState: Codable, Equatable, Sendable {
    /// One process of the system.
    public struct Process: Codable, Equatable, Sendable {
        /// The name, `gateway-1` for example.
        public var name: String
        /// The service: `gateway`, `conversations`, `metadata`, `presence`, `webhooks`, `console`,
        /// `postgres` or `redis`.
        public var service: String
        /// The current process id.
        public var pid: Int32
        /// The number of restarts.
        public var restarts: Int
        /// The port on 127.0.0.1 of `/health/ready` and `/metrics`.
        public var adminPort: Int?
        /// The port for RPC calls, or for connections of PostgreSQL or Redis.
        public var port: Int?
        /// The port of a gateway for plain HTTP and WebSocket, or of the console.
        public var httpPort: Int?
        /// The port of a gateway for HTTPS and WSS.
        public var httpsPort: Int?
        /// The path of the log file.
        public var log: String?

        /// Creates the description of a process.
        public init(
            name: String, service: String, pid: Int32, restarts: Int = 0, adminPort: Int? = nil, port: Int? = nil,
            httpPort: Int? = nil,
            httpsPort: Int? = nil, log: String? = nil
        ) {
            self.name = name
            self.service = service
            self.pid = pid
            self.restarts = restarts
            self.adminPort = adminPort
            self.port = port
            self.httpPort = httpPort
            self.httpsPort = httpsPort
            self.log = log
        }
    }

    /// The process id of `strata dev`.
    public var pid: Int32
    /// The time of the start.
    public var startedAt: Date
    /// The base of the URLs inside objects.
    public var publicURL: String
    /// The plain HTTP base URL of each gateway.
    public var httpURLs: [String]
    /// The HTTPS base URL of each gateway.
    public var httpsURLs: [String]
    /// The console's address in a browser. nil: the console does not run.
    public var consoleURL: String?
    /// The libpq URL of the first database, as its owner.
    public var databaseURL: String
    /// All databases with their names, as in `STRATA_DATABASE_URL`. nil: there is one.
    public var databases: String?
    /// The Redis URL, `redis://127.0.0.1:…`.
    public var redisURL: String
    /// The path of the TLS certificate, PEM. Clients can be configured to trust it.
    public var certificate: String
    /// All running processes.
    public var processes: [Process]

    /// Creates the description of a system.
    public init(
        pid: Int32, startedAt: Date, publicURL: String, httpURLs: [String], httpsURLs: [String],
        consoleURL: String? = nil, databaseURL: String, databases: String? = nil, redisURL: String,
        certificate: String, processes: [Process]
    ) {
        self.pid = pid
        self.startedAt = startedAt
        self.publicURL = publicURL
        self.httpURLs = httpURLs
        self.httpsURLs = httpsURLs
        self.consoleURL = consoleURL
        self.databaseURL = databaseURL
        self.databases = databases
        self.redisURL = redisURL
        self.certificate = certificate
        self.processes = processes
    }

    /// The libpq URLs of all databases, as their owner.
    public var databaseURLs: [String] {
        databases.flatMap { DatabaseList($0) }?.databases.map { $0.url } ?? [databaseURL]
    }

    /// Returns the processes of one service, in the order of their numbers.
    public func instances(of service: String) -> [Process] {
        processes.filter { $0.service == service }
    }

    /// Reads a state file.
    /// - Parameter path: The path of a home's `state.json`.
    public static func read(_ path: String) throws -> RunningState {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(RunningState.self, from: try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Returns the state of the system that runs in a home. Waits for a system that is starting, because its gateways
    /// answer before the start is complete.
    /// - Parameters:
    ///   - patience: The maximum wait. A service that is not ready within a minute ends `strata dev`.
    ///   - console: Prints a note when the wait begins.
    /// - Throws: ``CommandFailure`` if no system runs, or if the start does not complete in time.
    static func ofRunning(
        in home: StrataHome, patience: Duration = .seconds(60), console: Console = .standard
    ) async throws -> RunningState {
        let end = ContinuousClock.now + patience
        var isAnnounced = false
        while HomeLock.isHeld(home) {
            if let state = try? read(home.state) { return state }
            guard .now < end else {
                throw CommandFailure(
                    .temporary,
                    "The system in \(home.path) is not up after \(patience.brief). Its logs are in \(home.logs).")
            }
            if !isAnnounced { console.note("The system in \(home.path) is not up yet; waiting for it.") }
            isAnnounced = true
            try await Task.sleep(for: .milliseconds(50))
        }
        throw CommandFailure(.unavailable, "No system runs in \(home.path). Start one with: strata dev")
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try PrivateFile.write(try encoder.encode(self), to: path)
    }
}
