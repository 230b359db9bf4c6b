// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// What `strata dev` writes into `state.json`, so that the other commands and tests find what runs. Mode 0600: it holds the database's password.
public struct RunningState: Codable, Equatable, Sendable {
    /// One process of the system.
    public struct Process: Codable, Equatable, Sendable {
        /// `gateway-1`.
        public var name: String
        /// `gateway`, `conversations`, `metadata`, `presence`, `postgres`, `redis`.
        public var service: String
        /// Its process id at the moment.
        public var pid: Int32
        /// How often it has been started again.
        public var restarts: Int
        /// Where services answer `/health/ready` and `/metrics`, on 127.0.0.1.
        public var adminPort: Int?
        /// Where services take calls, PostgreSQL and Redis connections.
        public var port: Int?
        /// Plain HTTP and WebSocket of a gateway.
        public var httpPort: Int?
        /// HTTPS and WSS of a gateway.
        public var httpsPort: Int?
        /// Its log file.
        public var log: String?

        /// Makes the description of a process.
        public init(
            name: String, service: String, pid: Int32, restarts: Int = 0, adminPort: Int? = nil, port: Int? = nil, httpPort: Int? = nil,
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

    /// The `strata dev` process.
    public var pid: Int32
    /// When everything was up.
    public var startedAt: Date
    /// The base of the URLs inside objects.
    public var publicURL: String
    /// The plain HTTP base URL of each gateway.
    public var httpURLs: [String]
    /// The HTTPS base URL of each gateway.
    public var httpsURLs: [String]
    /// libpq URL of the database, as its owner.
    public var databaseURL: String
    /// `redis://127.0.0.1:…`.
    public var redisURL: String
    /// The TLS certificate, PEM: what clients may be told to trust.
    public var certificate: String
    /// Everything that runs.
    public var processes: [Process]

    /// Makes the description of a system.
    public init(
        pid: Int32, startedAt: Date, publicURL: String, httpURLs: [String], httpsURLs: [String], databaseURL: String, redisURL: String,
        certificate: String, processes: [Process]
    ) {
        self.pid = pid
        self.startedAt = startedAt
        self.publicURL = publicURL
        self.httpURLs = httpURLs
        self.httpsURLs = httpsURLs
        self.databaseURL = databaseURL
        self.redisURL = redisURL
        self.certificate = certificate
        self.processes = processes
    }

    /// The processes of one service, in the order of their numbers.
    public func instances(of service: String) -> [Process] {
        processes.filter { $0.service == service }
    }

    /// Reads a state file.
    /// - Parameter path: `state.json` of a home.
    public static func read(_ path: String) throws -> RunningState {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(RunningState.self, from: try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// The state of the system that runs in a home. One that is just coming up is waited for: its gateways answer a little before the last of it is up.
    /// - Parameters:
    ///   - patience: how long; a service that is not ready within a minute ends `strata dev`.
    ///   - console: hears that there is waiting.
    /// - Throws: ``CommandFailure`` that says how to start one, or that the one there is does not come up.
    static func ofRunning(
        in home: StrataHome, patience: Duration = .seconds(60), console: Console = .standard
    ) async throws -> RunningState {
        let end = ContinuousClock.now + patience
        var isAnnounced = false
        while HomeLock.isHeld(home) {
            if let state = try? read(home.state) { return state }
            guard .now < end else {
                throw CommandFailure(.temporary, "The system in \(home.path) is not up after \(patience.brief). Its logs are in \(home.logs).")
            }
            if !isAnnounced { console.note("The system in \(home.path) is not up yet; waiting for it.") }
            isAnnounced = true
            try await Task.sleep(for: .milliseconds(50))
        }
        throw CommandFailure(.unavailable, "No system runs in \(home.path). Start one with: strata dev")
    }

    /// Writes the state file.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try PrivateFile.write(try encoder.encode(self), to: path)
    }
}
