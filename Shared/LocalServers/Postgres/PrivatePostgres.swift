// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A PostgreSQL server of our own: its files in a directory we choose, listening on 127.0.0.1 only, a child of this process that ends with it.
///
/// Stopping and starting again keeps the data and the port. A server that was killed, together with its parent or alone, recovers at the next start.
public actor PrivatePostgres {
    /// How to run it.
    public struct Options: Sendable {
        /// Where its files are. Made if it does not exist; its parent is made too. `data` inside holds the database, `log` what the server says.
        public var directory: String
        /// The TCP port; nil takes a free one.
        public var port: Int?
        /// The superuser's password, needed by every connection (SCRAM). With nil every program that reaches the port is let in: for tests only.
        public var password: String?
        /// Whether a commit survives the machine's crash. False is several times faster, and for tests only.
        public var isDurable = true
        /// Further settings of the server.
        public var settings: [String: String] = [:]
        /// Words before the server's program: another one that replaces itself by it, such as `env`.
        public var wrapper: [String] = []
        /// Hears what the operator should know.
        public var notice: @Sendable (String) -> Void = { _ in }

        /// Options with a directory, a password and the rest as it is said there.
        public init(directory: String, port: Int? = nil, password: String?) {
            self.directory = directory
            self.port = port
            self.password = password
        }
    }

    /// The superuser of every server of this kind.
    public static let superuser = "strata"

    /// Always 127.0.0.1.
    public nonisolated let host = "127.0.0.1"
    /// The port it listens on.
    public nonisolated let port: Int
    private let options: Options
    /// Where its files are: `options.directory`, or what that links to.
    private nonisolated let home: String
    private let user: SystemUser?
    private var child: ChildProcess

    /// What the server says.
    public nonisolated var log: String { home + "/log" }

    private init(options: Options, home: String, user: SystemUser?, port: Int, child: ChildProcess) {
        self.options = options
        self.home = home
        self.user = user
        self.port = port
        self.child = child
    }

    /// Starts a server and waits until it accepts connections; makes the database the first time.
    /// - Throws: ``LocalServerError``, with the last lines of the server's log if it did not come up.
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

    /// The running server's process.
    public var process: ChildProcess {
        child
    }

    /// A libpq URL.
    /// - Parameters:
    ///   - database: the database; by default the one that always exists.
    ///   - user: the role; by default the superuser.
    ///   - password: the role's password; by default the superuser's.
    public nonisolated func url(database: String = "postgres", user: String = superuser, password: String? = nil) -> String {
        let secret = (password ?? options.password).map { ":\($0)" } ?? ""
        return "postgresql://\(user)\(secret)@\(host):\(port)/\(database)"
    }

    /// Stops it in good order: connections are cut, everything is written, no recovery is needed.
    public func stop() async {
        await child.stop(SIGINT, patience: .seconds(30))
    }

    /// Kills it, all of its processes, as a crash would.
    public func kill() async {
        let processes = PostgresCluster.processes(of: child.pid)
        child.signal(SIGKILL)
        for pid in processes where pid != child.pid { _ = Glibc.kill(pid, SIGKILL) }
        _ = await child.waitForExit()
        try? await PostgresCluster(home: home, user: user).awaitSilence()
    }

    /// Kills it for good: its data are of no use to any program, and no next start would remove what the kernel keeps of it. The memory of a durable
    /// one that PostgreSQL calls dynamic stays.
    public func discard() async {
        await kill()
        if let segment = PostgresPIDFile.read(data: home + "/data")?.sharedMemory { shmctl(segment, IPC_RMID, nil) }
    }

    /// Starts it again, on the same port and data, after ``stop()``, ``kill()`` or an end of its own.
    public func startAgain() async throws {
        guard !child.isRunning else { return }
        try await PostgresCluster(home: home, user: user).endLeftover()
        child = try await Self.launch(options, home: home, user: user, port: port)
    }

    /// Stops the server's processes where they are, until ``resume()``: a server that neither answers nor closes.
    public func suspend() {
        // The one that makes the others first.
        child.signal(SIGSTOP)
        for pid in PostgresCluster.processes(of: child.pid) where pid != child.pid { _ = Glibc.kill(pid, SIGSTOP) }
    }

    /// Ends what ``suspend()`` began.
    public func resume() {
        for pid in PostgresCluster.processes(of: child.pid) { _ = Glibc.kill(pid, SIGCONT) }
    }

    /// Runs SQL as the superuser with `psql`, stopping at the first error.
    /// - Parameters:
    ///   - sql: one or more statements, at most 64 KiB.
    ///   - database: where.
    /// - Returns: the rows, unaligned, a tab between columns.
    /// - Throws: ``LocalServerError`` `commandFailed` with PostgreSQL's message.
    @discardableResult
    public nonisolated func runSQL(_ sql: String, database: String = "postgres") async throws -> String {
        var environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGCONNECT_TIMEOUT": "10"]
        environment["PGPASSWORD"] = options.password
        let words = [
            "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", "\(port)", "-U", Self.superuser, "-d", database, "-f", "-",
        ]
        let launch = Launch(try Programs.findPostgres("psql"), arguments: words, environment: environment, directory: "/", input: sql)
        let exit = try await ChildProcess.run(launch)
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "psql: \(exit.output)") }
        return exit.output
    }

    private static func launch(_ options: Options, home: String, user: SystemUser?, port: Int) async throws -> ChildProcess {
        let data = home + "/data"
        var settings = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": "", "timezone": "UTC", "log_timezone": "UTC",
            "max_connections": "200", "fsync": options.isDurable ? "on" : "off",
        ]
        if !options.isDurable {
            settings["full_page_writes"] = "off"
            // In its own directory: what a server that was killed leaves goes with that.
            settings["dynamic_shared_memory_type"] = "mmap"
        }
        settings.merge(options.settings) { $1 }
        let words = ["-D", data] + settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        let log = home + "/log"
        let program = options.wrapper + [try Programs.findPostgres("postgres")]
        let child = try await ChildProcess.start(
            Launch(
                program[0], arguments: program.dropFirst() + words, environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"], directory: "/", user: user,
                deathSignal: .interrupt, output: .append(to: log)))
        // Recovery after a crash may take a while; how long is the data's business, so this is generous.
        let ready = try await Readiness.poll(child, limit: .seconds(300)) {
            guard let file = PostgresPIDFile.read(data: data) else { return false }
            return file.pid == child.pid && file.isReady
        }
        guard ready else {
            await child.stop(SIGQUIT, patience: .seconds(5))
            throw LocalServerError(.startFailed, "PostgreSQL did not start; the end of \(log):\n\(LogTail.last(12, of: log))")
        }
        return child
    }
}
