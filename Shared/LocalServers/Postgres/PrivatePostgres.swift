// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A PostgreSQL server that runs as a child of this process and ends with it. It listens on one address only and keeps
/// its files in a given directory.
///
/// Stopping and starting again keeps the data and the port. After a crash of the server, alone or with its parent, the
/// next start recovers the data.
public actor PrivatePostgres {
    /// The options of a private server.
    public struct Options: Sendable {
        /// The directory of the server's files: `data` with the database, and `log`. It is created with its parents if
        /// it does not exist.
        public var directory: String
        /// The TCP port. nil: any free port.
        public var port: Int?
        /// The superuser's password, required for every connection (SCRAM). nil: every program that reaches the port is
        /// admitted; for tests only.
        public var password: String?
        /// True if a commit survives a crash of the machine. False is several times faster, and for tests only.
        public var isDurable = true
        /// Additional server settings.
        public var settings: [String: String] = [:]
        /// The command line of a program that runs before the server and replaces itself with it, such as `env`.
        public var wrapper: [String] = []
        /// The host of the server.
        public var host = ServerHost.loopback
        /// Called with messages for the operator.
        public var notice: @Sendable (String) -> Void = { _ in }

        /// Creates options with default values except for these.
        public init(directory: String, port: Int? = nil, password: String?) {
            self.directory = directory
            self.port = port
            self.password = password
        }
    }

    /// The superuser of every private server.
    public static let superuser = "strata"

    /// The listening address.
    public nonisolated var host: String { options.host.address }
    /// The listening port.
    public nonisolated let port: Int
    private nonisolated let options: Options
    /// The directory of the server's files: `options.directory`, or the target of that link.
    private nonisolated let home: String
    private let user: SystemUser?
    private var child: ChildProcess

    /// The path of the server's log.
    public nonisolated var log: String { home + "/log" }

    private init(options: Options, home: String, user: SystemUser?, port: Int, child: ChildProcess) {
        self.options = options
        self.home = home
        self.user = user
        self.port = port
        self.child = child
    }

    /// Starts a server and waits until it accepts connections. Creates the database the first time.
    /// - Throws: ``LocalServerError``, with the last lines of the server's log if the start failed.
    public static func start(_ options: Options) async throws -> PrivatePostgres {
        let user = SystemUser.forPostgres
        let home = try await ServerDirectory.prepare(options.directory, for: user, notice: options.notice)
        let cluster = PostgresCluster(home: home, user: user)
        try await cluster.endLeftover()
        try await cluster.create(password: options.password, isDurable: options.isDurable)
        unlink(home + "/log")
        if let port = options.port {
            guard LoopbackPort.isFree(port) else {
                throw LocalServerError(.portInUse, "Port \(port) of 127.0.0.1, wanted for PostgreSQL, is in use")
            }
            let child = try await launch(options, home: home, user: user, port: port)
            return PrivatePostgres(options: options, home: home, user: user, port: port, child: child)
        }
        let (port, child) = try await LoopbackPort.withFree { port in
            try await launch(options, home: home, user: user, port: port)
        }
        return PrivatePostgres(options: options, home: home, user: user, port: port, child: child)
    }

    /// The server's main process.
    public var process: ChildProcess {
        child
    }

    /// Returns a libpq URL.
    /// - Parameters:
    ///   - database: The database; by default the one that always exists.
    ///   - user: The role; default ``superuser``.
    ///   - password: The role's password; by default the superuser's.
    public nonisolated func url(
        database: String = "postgres", user: String = superuser, password: String? = nil
    ) -> String {
        let secret = (password ?? options.password).map { ":\($0)" } ?? ""
        return "postgresql://\(user)\(secret)@\(host):\(port)/\(database)"
    }

    /// Stops the server in order: connections are closed and all data is written, so that no recovery is needed.
    public func stop() async {
        await child.stop(SIGINT, patience: .seconds(30))
    }

    /// Kills all processes of the server, as a crash would.
    public func kill() async {
        let processes = PostgresCluster.processes(of: child.pid)
        child.signal(SIGKILL)
        for pid in processes where pid != child.pid { _ = Glibc.kill(pid, SIGKILL) }
        _ = await child.waitForExit()
        try? await PostgresCluster(home: home, user: user).awaitProcessesExit()
    }

    /// Kills the server permanently, when no program needs its data any more. Removes its System V shared memory
    /// segment, which otherwise only a restart would remove.
    ///
    /// The dynamic shared memory of a durable server remains.
    public func discard() async {
        await kill()
        if let segment = PostgresPIDFile.read(data: home + "/data")?.sharedMemory { shmctl(segment, IPC_RMID, nil) }
    }

    /// Starts the server again, on the same port and data, after ``stop()``, ``kill()`` or its own end.
    public func restart() async throws {
        guard !child.isRunning else { return }
        try await PostgresCluster(home: home, user: user).endLeftover()
        child = try await Self.launch(options, home: home, user: user, port: port)
    }

    /// Suspends the server's processes until ``resume()``. The server then neither answers nor closes connections.
    public func suspend() {
        // Suspend the main process first, so that it cannot create more processes.
        child.signal(SIGSTOP)
        for pid in PostgresCluster.processes(of: child.pid) where pid != child.pid { _ = Glibc.kill(pid, SIGSTOP) }
    }

    /// Resumes the processes that ``suspend()`` stopped.
    public func resume() {
        for pid in PostgresCluster.processes(of: child.pid) { _ = Glibc.kill(pid, SIGCONT) }
    }

    /// Runs SQL as the superuser with `psql`, stopping at the first error.
    /// - Parameter sql: One or more statements, at most 64 KiB.
    /// - Returns: The rows, unaligned, with a tab between columns.
    /// - Throws: ``LocalServerError`` `commandFailed` with PostgreSQL's message.
    @discardableResult
    public nonisolated func runSQL(_ sql: String, database: String = "postgres") async throws -> String {
        var environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGCONNECT_TIMEOUT": "10"]
        environment["PGPASSWORD"] = options.password
        let words = [
            "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", "\(port)", "-U",
            Self.superuser, "-d", database, "-f", "-",
        ]
        let launch = Launch(
            try Programs.findPostgres("psql"), arguments: words, environment: environment, directory: "/", input: sql)
        let exit = try await ChildProcess.run(launch)
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "psql: \(exit.output)") }
        return exit.output
    }

    private static func launch(
        _ options: Options, home: String, user: SystemUser?, port: Int
    ) async throws -> ChildProcess {
        let data = home + "/data"
        var settings = [
            "listen_addresses": options.host.address, "port": "\(port)", "unix_socket_directories": "",
            "timezone": "UTC", "log_timezone": "UTC",
            "max_connections": "200", "fsync": options.isDurable ? "on" : "off",
        ]
        if !options.isDurable {
            settings["full_page_writes"] = "off"
            // Memory-mapped files lie in the data directory, so leftovers of a killed server are removed with it.
            settings["dynamic_shared_memory_type"] = "mmap"
        }
        settings.merge(options.settings) { $1 }
        let words = ["-D", data] + settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        let log = home + "/log"
        let program = options.wrapper + [try Programs.findPostgres("postgres")]
        var launch = Launch(
            program[0], arguments: program.dropFirst() + words,
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"], directory: "/", user: user,
            deathSignal: .interrupt, output: .append(to: log))
        launch.prefix = options.host.prefix
        let child = try await ChildProcess.start(launch)
        // The limit is generous, because recovery after a crash takes as long as the data requires.
        let ready = try await Readiness.poll(child, limit: .seconds(300)) {
            guard let file = PostgresPIDFile.read(data: data) else { return false }
            return file.pid == child.pid && file.isReady
        }
        guard ready else {
            await child.stop(SIGQUIT, patience: .seconds(5))
            throw LocalServerError(
                .startFailed, "PostgreSQL did not start; the end of \(log):\n\(LogTail.last(12, of: log))")
        }
        return child
    }
}
