// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// An in-memory Redis server that runs as a child of this process and ends with it. It listens on one address only.
public actor PrivateRedis {
    /// The options of a private server.
    public struct Options: Sendable {
        /// The directory of the log, and of the server's files if it is configured to keep any. It is created if it
        /// does not exist.
        public var directory: String
        /// The TCP port. nil: any free port.
        public var port: Int?
        /// Additional command-line arguments, for example `["--cluster-enabled", "yes"]`.
        public var arguments: [String] = []
        /// The host of the server.
        public var host = ServerHost.loopback

        /// Creates options with default values except for these.
        public init(directory: String, port: Int? = nil, arguments: [String] = []) {
            self.directory = directory
            self.port = port
            self.arguments = arguments
        }
    }

    /// The listening address.
    public nonisolated var host: String { options.host.address }
    /// The listening port.
    public nonisolated let port: Int
    private nonisolated let options: Options
    private var child: ChildProcess

    private init(options: Options, port: Int, child: ChildProcess) {
        self.options = options
        self.port = port
        self.child = child
    }

    /// Starts a server and waits until it answers.
    /// - Throws: ``LocalServerError``, with the last lines of the log if the start failed.
    public static func start(_ options: Options) async throws -> PrivateRedis {
        do {
            try FileManager.default.createDirectory(atPath: options.directory, withIntermediateDirectories: true)
        } catch {
            throw LocalServerError(
                .unusableDirectory, "Cannot make \(options.directory): \(error.localizedDescription)")
        }
        unlink(options.directory + "/log")
        if let port = options.port {
            guard LoopbackPort.isFree(port) else {
                throw LocalServerError(.portInUse, "Port \(port) of 127.0.0.1, wanted for Redis, is in use")
            }
            return PrivateRedis(options: options, port: port, child: try await launch(options, port: port))
        }
        let (port, child) = try await LoopbackPort.withFree { port in try await launch(options, port: port) }
        return PrivateRedis(options: options, port: port, child: child)
    }

    /// The server's process.
    public var process: ChildProcess {
        child
    }

    /// The server's URL, `redis://host:port`.
    public nonisolated var url: String {
        "redis://\(host):\(port)"
    }

    /// Stops the server with `SIGTERM`.
    public func stop() async {
        await child.stop(SIGTERM, patience: .seconds(10))
    }

    /// Kills the server, as a crash would.
    public func kill() async {
        child.signal(SIGKILL)
        _ = await child.waitForExit()
    }

    /// Starts the server again on the same port, empty, after ``stop()``, ``kill()`` or its own end.
    public func restart() async throws {
        guard !child.isRunning else { return }
        child = try await Self.launch(options, port: port)
    }

    /// Suspends the process until ``resume()``. The server then neither answers nor closes connections.
    public func suspend() {
        child.signal(SIGSTOP)
    }

    /// Resumes the process that ``suspend()`` stopped.
    public func resume() {
        child.signal(SIGCONT)
    }

    private static func launch(_ options: Options, port: Int) async throws -> ChildProcess {
        let log = options.directory + "/log"
        let words =
            [
                "--port", "\(port)", "--bind", options.host.address, "--daemonize", "no", "--save", "",
                "--appendonly", "no", "--dir", options.directory,
                "--logfile", "",
            ] + options.arguments
        var launch = Launch(
            try Programs.findRedis("redis-server"), arguments: words,
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"],
            deathSignal: .terminate, output: .append(to: log))
        launch.prefix = options.host.prefix
        let child = try await ChildProcess.start(launch)
        let ready = try await Readiness.poll(child, limit: .seconds(30)) {
            await isReady(options.host.address, port: port, pid: child.pid)
        }
        guard ready else {
            await child.stop(SIGKILL)
            throw LocalServerError(.startFailed, "Redis did not start; the end of \(log):\n\(LogTail.last(8, of: log))")
        }
        return child
    }

    /// Returns true if the server answers with the expected process id. If another process took the port, another Redis
    /// would answer.
    private static func isReady(_ address: String, port: Int, pid: Int32) async -> Bool {
        let answer = await LocalExchange.send(to: address, port: port, "INFO server\r\n", until: "executable:")
        return answer.contains("process_id:\(pid)\r\n")
    }
}
