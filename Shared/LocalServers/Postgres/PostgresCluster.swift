// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// The files of one private PostgreSQL server, and the cleanup after an earlier server on these files.
struct PostgresCluster {
    /// The directory with `data` and `log`.
    let home: String
    /// The user the server runs as. nil: the user of this process.
    let user: SystemUser?

    private var data: String { home + "/data" }

    /// Creates the database, unless it exists. `initdb` writes to a temporary directory, which is renamed when
    /// complete. An interrupted attempt is therefore never taken for a database.
    func create(password: String?, isDurable: Bool) async throws {
        guard !FileManager.default.fileExists(atPath: data + "/PG_VERSION") else { return }
        let draft = home + "/data.new"
        try? FileManager.default.removeItem(atPath: draft)
        var words = [
            "-D", draft, "-U", PrivatePostgres.superuser, "--encoding=UTF8", "--locale=C", "--no-instructions",
        ]
        let passwordFile = home + "/password.new"
        defer { unlink(passwordFile) }
        if let password {
            try writeSecret(password, to: passwordFile)
            words += ["--auth=scram-sha-256", "--pwfile=\(passwordFile)"]
        } else {
            words += ["--auth=trust"]
        }
        if !isDurable { words.append("--no-sync") }
        let launch = Launch(
            try Programs.findPostgres("initdb"), arguments: words,
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"], directory: "/", user: user,
            deathSignal: .kill)
        let exit = try await ChildProcess.run(launch, timeout: .seconds(180))
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "initdb failed: \(exit.output)") }
        guard rename(draft, data) == 0 else {
            throw LocalServerError(
                .unusableDirectory, "\(draft) cannot be renamed: \(String(cString: strerror(errno)))")
        }
    }

    /// Handles an earlier server on this directory.
    ///
    /// - A running server, whose parent was killed a moment ago, is ending. The function waits for it, and interrupts
    ///   it after 10 s.
    /// - The PID file of a dead server is removed if its process id now belongs to another process, because PostgreSQL
    ///   could not detect that.
    func endLeftover() async throws {
        guard let file = PostgresPIDFile.read(data: data) else { return try await awaitProcessesExit() }
        guard file.isAlive(data: data) else {
            if Glibc.kill(file.pid, 0) == 0 || errno == EPERM { unlink(PostgresPIDFile.path(data: data)) }
            return try await awaitProcessesExit()
        }
        let clock = ContinuousClock()
        let start = clock.now
        var signalled = false
        while file.isAlive(data: data) {
            let waited = start.duration(to: clock.now)
            if waited > .seconds(10), !signalled {
                signalled = true
                _ = Glibc.kill(file.pid, SIGINT)
            }
            guard waited < .seconds(40) else {
                throw LocalServerError(
                    .timedOut, "A PostgreSQL (process \(file.pid)) still runs on \(data) and does not end")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Waits until no process uses the data. The processes of a killed server end within moments. Until then its shared
    /// memory is in use, and PostgreSQL refuses to start.
    func awaitProcessesExit() async throws {
        for _ in 0..<200 where isInUse { try await Task.sleep(for: .milliseconds(50)) }
    }

    /// Returns the process ids of a server and its children.
    static func processes(of server: Int32) -> [Int32] {
        let children = allProcesses().filter { parent(of: $0) == server }
        return [server] + children
    }

    private var isInUse: Bool {
        let data = PostgresPIDFile.real(data)
        return Self.allProcesses()
            .contains { pid in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")) == data
            }
    }

    private static func allProcesses() -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
    }

    /// Reads the fourth field of `/proc/<pid>/stat`. Fields are counted from the end of the name, which may contain
    /// anything.
    private static func parent(of pid: Int32) -> Int32? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 1 ? Int32(fields[1]) : nil
    }

    private func writeSecret(_ secret: String, to path: String) throws {
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw LocalServerError(.unusableDirectory, "\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let bytes = Array(secret.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw LocalServerError(.unusableDirectory, "\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        if let user { fchown(descriptor, user.uid, user.gid) }
    }
}

/// The content of `postmaster.pid`, which PostgreSQL writes into its data directory.
struct PostgresPIDFile: Equatable {
    let pid: Int32
    let port: Int?
    /// The identifier of the server's System V shared memory segment, by which a second server detects the first. The
    /// kernel keeps the segment when the server is killed.
    let sharedMemory: Int32?
    /// True if the server accepts connections.
    let isReady: Bool

    /// Parses the lines that PostgreSQL defines: process id first, port fourth, key and identifier of the segment
    /// seventh, state eighth.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard let first = lines.first, let pid = Int32(first), pid > 0 else { return nil }
        self.pid = pid
        self.port = lines.count > 3 ? Int(lines[3]) : nil
        self.sharedMemory = lines.count > 6 ? lines[6].split(separator: " ").last.flatMap { Int32($0) } : nil
        self.isReady = lines.count > 7 && lines[7] == "ready"
    }

    /// Reads the file of a data directory. nil if there is none, or if it is incomplete.
    static func read(data: String) -> PostgresPIDFile? {
        (try? String(contentsOfFile: path(data: data), encoding: .utf8)).flatMap(PostgresPIDFile.init)
    }

    static func path(data: String) -> String {
        data + "/postmaster.pid"
    }

    /// Returns true if the named process is a PostgreSQL on this data directory. After a crash the process id may
    /// belong to any process.
    func isAlive(data: String) -> Bool {
        guard let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") else {
            return false
        }
        return Self.real(directory) == Self.real(data)
    }

    /// Returns the path with all links resolved.
    static func real(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
