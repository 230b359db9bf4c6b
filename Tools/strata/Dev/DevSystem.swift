// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Foundation
import Glibc
import LocalServers
import NetKit
import Postgres
import RPC
import Schema

/// All processes of `strata dev`. ``start()`` starts them step by step and reports each step; ``stop()`` stops them in
/// reverse order.
actor DevSystem {
    nonisolated let home: StrataHome
    private let settings: DevSettings
    private let binaries: ServiceBinaries
    private let environment: [String: String]
    private let console: Console

    private var lock: HomeLock?
    /// The directories that this start has created. nil: the home already existed.
    private var newHome: StrataHome.New?
    /// The servers of the databases, in the order of their numbers.
    private var postgres: [PrivatePostgres] = []
    private var redis: PrivateRedis?
    /// The supervisors, in the order in which they were started.
    private var supervisors: [Supervisor] = []
    private var state: RunningState?
    /// The address of the demo page; nil if its users could not be signed in.
    private var demoPage: String?
    /// The link that signs the developer in to the console once.
    private var consoleLink: String?
    private var isStopping = false
    /// The events of the supervisors. One task consumes them in order.
    private let supervisorEvents: AsyncStream<SupervisorEvent>
    private let eventContinuation: AsyncStream<SupervisorEvent>.Continuation
    private var listening: Task<Void, Never>?

    private struct SupervisorEvent: Sendable {
        let event: Supervisor.Event
        /// The process of the event, as the state file describes it. The event carries its number of restarts and
        /// process id.
        let process: RunningState.Process
    }

    init(
        home: StrataHome, settings: DevSettings, binaries: ServiceBinaries, environment: [String: String],
        console: Console
    ) {
        self.home = home
        self.settings = settings
        self.binaries = binaries
        self.environment = environment
        self.console = console
        (supervisorEvents, eventContinuation) = AsyncStream.makeStream()
    }

    /// Starts all processes and returns when every service is ready.
    /// - Throws: ``CommandFailure`` or ``LocalServerError``. ``stop()`` then stops the processes that already run.
    func start() async throws {
        console.say("Strata \(StrataVersion.description), home \(home.path)")
        try binaries.check(settings.kinds)
        let new = home.newDirectories
        try home.make()
        lock = try HomeLock(home)
        newHome = new
        // Remove the state file of a killed system, which lists processes that no longer run.
        unlink(home.state)
        OpenFileLimit.raise()
        let host = settings.host
        let plan = try ServicePlan(
            settings: settings, isFree: { LoopbackPort.isFree($0, host: host) }, takePorts: LoopbackPort.free(_:))
        let secrets = try Secrets.ensure(in: home)
        for number in 1...settings.databases { try await startPostgres(number, secrets) }
        let redis = try await startRedis()
        let databases = DevDatabases(postgres)
        try await migrate(databases, secrets: secrets)
        let certificate = try makeCertificate()
        let context = ServicePlan.Context(
            settings: settings, clusterSecret: secrets.cluster, webhooksSecret: secrets.webhooksSecret,
            postgresURLs: databases.urls(secrets), redisURL: redis.url,
            certificate: certificate.certificate, key: certificate.key,
            inherited: environment, contentDirectory: home.content, databases: databases.names)
        state = await initialState(plan: plan, databases: databases, redis: redis, certificate: certificate)
        listening = Task { for await event in supervisorEvents { handle(event) } }
        await superviseServers(redis)
        try await startServices(of: plan, in: context)
        try writeState()
        await openDemoPage()
        await makeConsoleLink()
    }

    /// Stops all processes: gateways first, so that clients are notified, then the services, then PostgreSQL and Redis.
    func stop() async {
        isStopping = true
        for kind in ServiceKind.allCases.reversed() {
            await withTaskGroup(of: Void.self) { group in
                for supervisor in supervisors where supervisor.name.hasPrefix(kind.rawValue + "-") {
                    group.addTask { await supervisor.stop() }
                }
            }
        }
        for supervisor in supervisors.reversed() { await supervisor.stop() }
        supervisors = []
        eventContinuation.finish()
        await listening?.value
        await redis?.stop()
        for server in postgres { await server.stop() }
        // Without the lock the home belongs to another system.
        if lock != nil {
            unlink(home.state)
            // If PostgreSQL never ran, the home contains neither data nor useful logs.
            if postgres.isEmpty { newHome.map(home.remove) }
        }
        lock = nil
    }

    /// Returns the text that is printed when all processes run.
    func welcome() -> String {
        guard let state else { return "" }
        return Welcome(state: state, home: home, demoPage: demoPage, consoleLink: consoleLink).text
    }

    // MARK: Steps

    private func startPostgres(_ number: Int, _ secrets: Secrets) async throws {
        let began = ContinuousClock.now
        var options = PrivatePostgres.Options(directory: home.postgres(of: number), password: secrets.postgres)
        let console = console
        options.notice = { console.warn($0) }
        let server = try await PrivatePostgres.start(options)
        postgres.append(server)
        console.done("PostgreSQL on 127.0.0.1:\(server.port) (\(began.duration(to: .now).brief))")
    }

    private func startRedis() async throws -> PrivateRedis {
        let began = ContinuousClock.now
        let server = try await PrivateRedis.start(PrivateRedis.Options(directory: home.redis))
        redis = server
        console.done("Redis on 127.0.0.1:\(server.port) (\(began.duration(to: .now).brief))")
        return server
    }

    private func migrate(_ databases: DevDatabases, secrets: Secrets) async throws {
        let began = ContinuousClock.now
        var reports: [MigrationReport] = []
        do {
            reports = try await databases.prepare(secrets)
        } catch let error as PostgresError where error.code == .otherSchema {
            throw CommandFailure(.unavailable, CommandFailure.otherSchema(begin: "delete \(home.path)"))
        }
        for report in reports {
            let what = report.isEmpty ? "Database is up to date" : "Database migrated, \(report.summary)"
            console.done("\(what) (\(began.duration(to: .now).brief))")
        }
    }

    private func makeCertificate() throws -> TLSCertificate {
        let certificate = try TLSCertificate.ensure(in: home.tls, hosts: settings.certificateHosts)
        console.done("TLS certificate\(certificate.isNew ? " made" : ""): \(certificate.certificate)")
        return certificate
    }

    private func initialState(
        plan: ServicePlan, databases: DevDatabases, redis: PrivateRedis, certificate: TLSCertificate
    ) async -> RunningState {
        var servers: [RunningState.Process] = []
        for (index, server) in postgres.enumerated() {
            servers.append(
                .init(
                    name: Self.serverName(index + 1), service: "postgres", pid: await server.process.pid,
                    port: server.port, log: home.postgres(of: index + 1) + "/log"))
        }
        servers.append(
            .init(
                name: "redis", service: "redis", pid: await redis.process.pid, port: redis.port,
                log: home.redis + "/log"))
        let gateways = plan.instances.filter { $0.kind == .gateway }
        return RunningState(
            pid: getpid(), startedAt: Date(), publicURL: settings.publicURL,
            httpURLs: gateways.compactMap { $0.httpPort.map { "http://localhost:\($0)" } },
            httpsURLs: gateways.compactMap { $0.httpsPort.map { "https://localhost:\($0)" } },
            consoleURL: plan.instances.first { $0.kind == .console }?.httpPort.map { "http://localhost:\($0)" },
            databaseURL: databases.url, databases: databases.list, redisURL: redis.url,
            certificate: certificate.certificate, processes: servers)
    }

    /// Returns the name of a database's server.
    private static func serverName(_ number: Int) -> String { number == 1 ? "postgres" : "postgres-\(number)" }

    /// Starts the services, then the gateways when the services are ready, then the console.
    private func startServices(of plan: ServicePlan, in context: ServicePlan.Context) async throws {
        for kinds in [ServiceKind.allCases.filter(\.takesCalls), [.gateway], [.console]] {
            let group = plan.instances.filter { kinds.contains($0.kind) }
            var started: [(ServicePlan.Instance, Supervisor)] = []
            for instance in group {
                started.append((instance, await supervise(instance, plan: plan, context: context)))
            }
            for (instance, supervisor) in started { try await awaitReady(instance, supervisor: supervisor) }
        }
    }

    /// Signs the demo page's users in. A failure is reported and does not stop the system.
    private func openDemoPage() async {
        let setting = environment["STRATA_DEMO_PAGE"]?.lowercased() ?? "true"
        guard ["true", "yes", "on", "1"].contains(setting), let state, let gateway = state.httpURLs.first else {
            return
        }
        do {
            demoPage = try await DemoPage(home: home, database: state.databaseURL).address(at: gateway)
        } catch {
            console.warn("The users of the demo page could not be signed in: \(error)")
        }
    }

    /// Makes the link of the operator `developer`, who has no password. A failure is reported and does not stop the
    /// system.
    private func makeConsoleLink() async {
        guard let state, let base = state.consoleURL else { return }
        let (operators, name) = (OperatorStore(url: state.databaseURL), "developer")
        do {
            _ = try await operators.create(name, password: nil, role: .operator)
            consoleLink = try await operators.makeLink(for: name, seconds: nil).map { base + $0 }
        } catch {
            console.warn("The link to the console could not be made: \(error)")
        }
    }

    private func supervise(
        _ instance: ServicePlan.Instance, plan: ServicePlan, context: ServicePlan.Context
    ) async -> Supervisor {
        let log = "\(home.logs)/\(instance.name).log"
        // Logs start anew with each start of the system, but are continued when a process restarts.
        unlink(log)
        let launch = Launch(
            binaries.path(of: instance.kind), environment: plan.environment(of: instance, in: context),
            directory: home.path, deathSignal: .kill,
            output: .append(to: log))
        let process = RunningState.Process(
            name: instance.name, service: instance.kind.rawValue, pid: 0, adminPort: instance.adminPort,
            port: instance.rpcPort,
            httpPort: instance.httpPort, httpsPort: instance.httpsPort, log: log)
        return await supervise(process, stopSignal: SIGTERM) { try await ChildProcess.start(launch) }
    }

    /// Supervises PostgreSQL and Redis, which already run, so that they restart when they die.
    private func superviseServers(_ redis: PrivateRedis) async {
        let servers = Dictionary(
            uniqueKeysWithValues: postgres.enumerated().map { (Self.serverName($0.offset + 1), $0.element) })
        for process in state?.processes ?? [] {
            if let postgres = servers[process.name] {
                await supervise(process, stopSignal: SIGINT) {
                    try await postgres.restart()
                    return await postgres.process
                }
            } else {
                await supervise(process, stopSignal: SIGTERM) {
                    try await redis.restart()
                    return await redis.process
                }
            }
        }
    }

    @discardableResult
    private func supervise(
        _ process: RunningState.Process, stopSignal: Int32, start: @escaping @Sendable () async throws -> ChildProcess
    ) async -> Supervisor {
        let supervisor = Supervisor(name: process.name, stopSignal: stopSignal, start: start) {
            [eventContinuation] event in
            eventContinuation.yield(SupervisorEvent(event: event, process: process))
        }
        supervisors.append(supervisor)
        await supervisor.begin()
        return supervisor
    }

    /// Waits until a service is ready. Fails early if the service restarts repeatedly before it was ever ready.
    private func awaitReady(_ instance: ServicePlan.Instance, supervisor: Supervisor) async throws {
        let began = ContinuousClock.now
        let probe = ReadyProbe(adminPort: instance.adminPort)
        guard try await probe.wait(limit: .seconds(60), isHopeless: { await supervisor.restarts >= 4 }) else {
            let log = "\(home.logs)/\(instance.name).log"
            let waited = began.duration(to: .now).brief
            throw CommandFailure(
                .unavailable,
                "\(instance.name) did not become ready in \(waited). The end of \(log):\n\(LogTail.last(8, of: log))")
        }
        let at = instance.httpPort.map { ", http://localhost:\($0)" } ?? ""
        console.done("\(instance.name) is ready\(at) (\(began.duration(to: .now).brief))")
    }

    // MARK: Supervisor events

    private func handle(_ supervisorEvent: SupervisorEvent) {
        var process = supervisorEvent.process
        switch supervisorEvent.event {
        case .started(let pid, let restarts):
            process.pid = pid
            process.restarts = restarts
            note(process)
        case .died(let exit, let pause): warn(about: process, exit: exit, pause: pause)
        case .startFailed(let reason, let pause):
            console.warn("\(process.name) could not be started (\(reason)); again in \(pause.brief)")
        }
    }

    private func warn(about process: RunningState.Process, exit: ChildProcess.Exit, pause: Duration) {
        guard !isStopping else { return }
        let how = exit.signal.map { "was killed by signal \($0)" } ?? "ended with status \(exit.status)"
        let tail =
            exit.signal == SIGKILL
            ? "" : LogTail.last(5, of: process.log ?? "").split(separator: "\n").map { "\n      \($0)" }.joined()
        console.warn("\(process.name) \(how); again in \(pause.brief)\(tail)")
    }

    /// Updates a process in the state file. During the start the file is not written, because its existence means that
    /// all processes run.
    private func note(_ process: RunningState.Process) {
        guard state != nil, !isStopping else { return }
        if let index = state?.processes.firstIndex(where: { $0.name == process.name }) {
            let isBack = process.restarts > 0
            state?.processes[index] = process
            if isBack { console.done("\(process.name) runs again") }
        } else {
            state?.processes.append(process)
        }
        if FileManager.default.fileExists(atPath: home.state) { try? writeState() }
    }

    private func writeState() throws {
        try state?.write(to: home.state)
    }
}

/// The databases of a system on this machine: one on each server, with a role for each service.
struct DevDatabases {
    private let servers: [PrivatePostgres]

    private static let name = "strata"

    /// - Parameter servers: The servers in the order of the databases; not empty.
    init(_ servers: [PrivatePostgres]) { self.servers = servers }

    /// Creates the databases and the roles unless they exist, updates the schema, and gives several databases their
    /// names.
    /// - Returns: Reports of the applied changes.
    func prepare(_ secrets: Secrets) async throws -> [MigrationReport] {
        var reports: [MigrationReport] = []
        for server in servers {
            if try await server.runSQL("SELECT 1 FROM pg_database WHERE datname = '\(Self.name)'").isEmpty {
                try await server.runSQL("CREATE DATABASE \(Self.name)")
            }
            reports.append(
                try await DatabaseMigration.run(
                    url: server.url(database: Self.name), passwords: secrets.rolePasswords))
        }
        if let list = list.flatMap({ DatabaseList($0) }) { try await DatabaseNaming(AppStores(list)).run() }
        return reports
    }

    /// The URL of the first database, as its owner.
    var url: String { servers[0].url(database: Self.name) }

    /// The names, separated by commas; nil: there is one database.
    var names: String? {
        servers.count == 1 ? nil : servers.indices.map(Self.databaseName).joined(separator: ",")
    }

    /// The databases with their names, as their owner; nil: there is one.
    var list: String? { servers.count == 1 ? nil : setting { $0.url(database: Self.name) } }

    /// Returns the setting of each service with its databases, with the service's own role.
    func urls(_ secrets: Secrets) -> [ServiceKind: String] {
        var urls: [ServiceKind: String] = [:]
        for (role, password) in secrets.rolePasswords {
            guard let kind = ServiceKind(rawValue: role.rawValue) else { continue }
            urls[kind] = setting { $0.url(database: Self.name, user: role.name, password: password) }
        }
        return urls
    }

    private func setting(_ url: (PrivatePostgres) -> String) -> String {
        guard servers.count > 1 else { return url(servers[0]) }
        return zip(servers.indices, servers).map { "\(Self.databaseName($0))=\(url($1))" }.joined(separator: " ")
    }

    private static func databaseName(_ index: Int) -> String { index == 0 ? "main" : "db\(index + 1)" }
}
