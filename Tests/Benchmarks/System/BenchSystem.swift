// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import LocalServers
import NIOCore
import NIOHTTP1
import NIOPosix
import Postgres
import StrataCommand

/// A whole system, started by `strata dev` in its own home, with signed-in users.
final class BenchSystem: Sendable {
    let state: RunningState
    let app: NewApp
    /// The libpq URL of the app's database, as its owner.
    let databaseURL: String
    let client: HTTPClient
    /// The settings of the services that differ from the defaults.
    let settings: [String: String]
    private let home: URL
    private let process: Process
    /// The prefix of the app's session tokens.
    private let tokenPrefix: String

    /// Settings that lift limits which the load from a single machine would reach.
    static let noLimits = [
        "STRATA_RATE_LIMIT_SESSION": "0", "STRATA_RATE_LIMIT_ADDRESS": "0", "STRATA_RATE_LIMIT_SERVER": "0",
        "STRATA_CONNECTIONS_PER_ADDRESS": "0", "STRATA_DEMO_PAGE": "false", "STRATA_CONSOLE": "false",
    ]

    private static var clientConfiguration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
        return configuration
    }

    /// Starts all processes and waits until they are ready.
    /// - Parameters:
    ///   - settings: Additional settings of the services.
    ///   - limitsStrangers: True to keep the default limit of additions by strangers.
    ///   - instances: The numbers of instances by the option of `strata dev`: `gateways`, `conversations`, …, and
    ///     of `databases`.
    init(
        settings: [String: String] = [:], limitsStrangers: Bool = false, instances: [String: Int] = [:]
    ) async throws {
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: Self.clientConfiguration)
        self.settings = Self.noLimits.merging(settings) { $1 }
        tokenPrefix = "bench-token-"
        home = FileManager.default.temporaryDirectory.appendingPathComponent(
            "strata-bench-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: home.path)
        process = Process()
        process.executableURL = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("strata")
        let ports = try LoopbackPort.free(2)
        process.arguments =
            [
                "dev", "--http-port", "\(ports[0])", "--https-port", "\(ports[1])", "--log-level", "warning",
            ] + instances.sorted { $0.key < $1.key }.flatMap { ["--\($0.key)", "\($0.value)"] }
        var environment = ProcessInfo.processInfo.environment
        environment["STRATA_HOME"] = home.path
        environment.merge(self.settings) { $1 }
        process.environment = environment
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let file = home.appendingPathComponent("state.json")
        var found: RunningState?
        for _ in 0..<600 where found == nil {
            try await Task.sleep(for: .milliseconds(100))
            if let data = try? Data(contentsOf: file) {
                let decoder = JSONDecoder()
                decoder.dateDecodingStrategy = .iso8601
                found = try? decoder.decode(RunningState.self, from: data)
            }
        }
        guard let found else { throw BenchProblem("strata dev did not come up") }
        state = found
        databaseURL = found.databaseURL
        app = try NewApp(name: "bench")
        try await AppStore(url: databaseURL).insert(app)
        if !limitsStrangers {
            try await execute("UPDATE conversations.app SET stranger_additions = 10000 WHERE id = '\(app.id)'")
        }
    }

    private init(_ other: BenchSystem, app: NewApp, databaseURL: String) {
        (state, client, settings, home, process) = (
            other.state, other.client, other.settings, other.home, other.process
        )
        self.app = app
        self.databaseURL = databaseURL
        tokenPrefix = "\(app.name)-token-"
    }

    /// Creates an app, and returns the same system from the view of this app. Only the original may be stopped.
    /// - Parameters:
    ///   - name: A name that is unique within the system.
    ///   - database: The index of the app's database.
    func tenant(_ name: String, database: Int = 0) async throws -> BenchSystem {
        let (app, url) = (try NewApp(name: name), state.databaseURLs[database])
        try await AppStore(url: url).insert(app)
        return BenchSystem(self, app: app, databaseURL: url)
    }

    func stop() async throws {
        process.terminate()
        process.waitUntilExit()
        try await client.shutdown()
        try? FileManager.default.removeItem(at: home)
    }

    /// Throws if a process has ended since the start, because its figures would be those of another process.
    func checkProcesses() throws {
        for process in state.processes where !FileManager.default.fileExists(atPath: "/proc/\(process.pid)") {
            throw BenchProblem("\(process.name) has ended")
        }
    }

    var gatewayPort: Int { state.processes.first { $0.service == "gateway" }?.httpPort ?? 0 }

    /// Inserts the users `u0`, `u1`, … with sessions whose tokens are ``token(_:)``. They are written to the database
    /// directly, so that no measurement waits for RSA.
    func signIn(users: Int) async throws {
        try await Self.signIn(users, prefix: "u", to: app.id, tokenPrefix: tokenPrefix, in: databaseURL)
    }

    /// Inserts users with sessions. A number follows both prefixes.
    static func signIn(
        _ users: Int, prefix: String, to app: UUID, tokenPrefix: String, in database: String
    ) async throws {
        try await execute(
            """
            INSERT INTO conversations.identity (app_id, user_id) SELECT '\(app)', '\(prefix)' || i
                FROM generate_series(0, \(users - 1)) i ON CONFLICT DO NOTHING;
            INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
                SELECT sha256(('\(tokenPrefix)' || i)::bytea), '\(app)', '\(prefix)' || i, now() + interval '1 day'
                FROM generate_series(0, \(users - 1)) i ON CONFLICT DO NOTHING;
            """, in: database)
    }

    /// Runs a script in the database, as its owner.
    func execute(_ script: String) async throws { try await Self.execute(script, in: databaseURL) }

    private static func execute(_ script: String, in database: String) async throws {
        var configuration = try PostgresConfiguration(url: database)
        configuration.connections = 1
        try await Migrator(configuration: configuration).execute(script: script)
    }

    func token(_ user: Int) -> String { "\(tokenPrefix)\(user)" }

    /// Creates a conversation over REST. Returns its id without the prefix.
    func conversation(of users: some Sequence<Int>, as creator: Int) async throws -> String {
        let names = users.map { "\"layer:///identities/u\($0)\"" }.joined(separator: ",")
        let id = UUID().uuidString.lowercased()
        try await post(
            "/conversations", as: creator, "{\"id\":\"\(id)\",\"distinct\":false,\"participants\":[\(names)]}")
        return id
    }

    func post(_ path: String, as user: Int, _ body: String) async throws {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(gatewayPort)\(path)")
        request.method = .POST
        request.headers = [
            "Accept": "application/vnd.layer+json; version=3.0", "Content-Type": "application/json",
            "Authorization": "Layer session-token=\"\(token(user))\"",
        ]
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await client.execute(request, timeout: .seconds(30))
        _ = try await response.body.collect(upTo: 1 << 20)
        guard response.status.code < 300 else { throw BenchProblem("\(path) answered \(response.status.code)") }
    }

    func text(_ url: String) async throws -> String {
        let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        return String(buffer: try await response.body.collect(upTo: 8 << 20))
    }

    /// Returns the CPU time of all processes of `services`, with their children, in seconds.
    func processorTime(of services: Set<String>? = nil) -> Double {
        let roots = Set(state.processes.filter { services?.contains($0.service) ?? true }.map { Int($0.pid) })
        return ProcessTable().processorTime(of: roots)
    }

    func processorTimes() -> [String: Double] {
        let table = ProcessTable()
        return Dictionary(grouping: state.processes, by: \.service)
            .mapValues { table.processorTime(of: Set($0.map { Int($0.pid) })) }
    }

    /// Returns the context switches of all processes by service.
    func contextSwitches() -> [String: ContextSwitches] {
        let table = ProcessTable()
        return Dictionary(grouping: state.processes, by: \.service)
            .mapValues { table.contextSwitches(of: Set($0.map { Int($0.pid) })) }
    }

    /// The resident memory of the gateway, in bytes.
    var gatewayMemory: Int {
        ProcessMemory.resident(of: Int(state.processes.first { $0.service == "gateway" }?.pid ?? 0))
    }
}

struct BenchProblem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A snapshot of all processes with their CPU time, from `/proc`.
struct ProcessTable {
    private var parents: [Int: Int] = [:]
    private var ticks: [Int: Int] = [:]

    init() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let pid = Int(name), let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                let end = stat.lastIndex(of: ")")
            else { continue }
            let fields = stat[end...].split(separator: " ")
            guard fields.count > 16 else { continue }
            parents[pid] = Int(fields[2])
            // User and system time, including children that have ended.
            ticks[pid] = [12, 13, 14, 15].reduce(0) { $0 + (Int(fields[$1]) ?? 0) }
        }
    }

    /// Returns the CPU time of these processes and all their descendants, in seconds.
    func processorTime(of roots: Set<Int>) -> Double {
        Double(family(of: roots).reduce(0) { $0 + (ticks[$1] ?? 0) }) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Returns the context switches of these processes and all their descendants, so far.
    func contextSwitches(of roots: Set<Int>) -> ContextSwitches {
        family(of: roots).reduce(into: ContextSwitches()) { $0.add(process: $1) }
    }

    /// The ids of all processes.
    var processes: [Int] { Array(ticks.keys) }

    /// Returns these processes and all their descendants.
    func family(of roots: Set<Int>) -> [Int] {
        ticks.keys.filter { pid in
            var ancestor = pid
            while ancestor > 1, !roots.contains(ancestor) { ancestor = parents[ancestor] ?? 0 }
            return roots.contains(ancestor)
        }
    }
}

/// The context switches of processes' threads, counted by the kernel since their start.
struct ContextSwitches {
    /// Switches of threads that began to wait.
    var voluntary = 0
    /// Switches of threads that another thread displaced.
    var involuntary = 0

    mutating func add(process pid: Int) {
        for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? [] {
            let path = "/proc/\(pid)/task/\(thread)/status"
            for line in ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n") {
                let count = line.split(separator: "\t").last.flatMap { Int($0) } ?? 0
                if line.hasPrefix("voluntary_ctxt_switches:") { voluntary += count }
                if line.hasPrefix("nonvoluntary_ctxt_switches:") { involuntary += count }
            }
        }
    }

    static func - (left: Self, right: Self) -> Self {
        Self(voluntary: left.voluntary - right.voluntary, involuntary: left.involuntary - right.involuntary)
    }
}
