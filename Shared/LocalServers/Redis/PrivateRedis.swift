// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A Redis server of our own: in memory only, listening on 127.0.0.1 only, a child of this process that ends with it.
public actor PrivateRedis {
    /// How to run it.
    public struct Options: Sendable {
        /// Where its log is, and its files if it is told to keep any. Made if it does not exist.
        public var directory: String
        /// The TCP port; nil takes a free one.
        public var port: Int?
        /// Further words of its command line, for example `["--cluster-enabled", "yes"]`.
        public var arguments: [String] = []

        /// Options with a directory and the rest as it is said there.
        public init(directory: String, port: Int? = nil, arguments: [String] = []) {
            self.directory = directory
            self.port = port
            self.arguments = arguments
        }
    }

    /// Always 127.0.0.1.
    public nonisolated let host = "127.0.0.1"
    /// The port it listens on.
    public nonisolated let port: Int
    private let options: Options
    private var child: ChildProcess

    private init(options: Options, port: Int, child: ChildProcess) {
        self.options = options
        self.port = port
        self.child = child
    }

    /// Starts a server and waits until it answers.
    /// - Throws: ``LocalServerError``, with the last lines of its log if it did not come up.
    public static func start(_ options: Options) async throws -> PrivateRedis {
        do {
            try FileManager.default.createDirectory(atPath: options.directory, withIntermediateDirectories: true)
        } catch {
            throw LocalServerError(.unusableDirectory, "Cannot make \(options.directory): \(error.localizedDescription)")
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

    /// The running server's process.
    public var process: ChildProcess {
        child
    }

    /// `redis://host:port`.
    public nonisolated var url: String {
        "redis://\(host):\(port)"
    }

    /// Stops it in good order.
    public func stop() async {
        await child.stop(SIGTERM, patience: .seconds(10))
    }

    /// Kills it, as a crash would.
    public func kill() async {
        child.signal(SIGKILL)
        _ = await child.waitForExit()
    }

    /// Starts it again on the same port, empty, after ``stop()``, ``kill()`` or an end of its own.
    public func startAgain() async throws {
        guard !child.isRunning else { return }
        child = try await Self.launch(options, port: port)
    }

    /// Stops the process where it is, until ``resume()``: a server that neither answers nor closes.
    public func suspend() {
        child.signal(SIGSTOP)
    }

    /// Ends what ``suspend()`` began.
    public func resume() {
        child.signal(SIGCONT)
    }

    private static func launch(_ options: Options, port: Int) async throws -> ChildProcess {
        let log = options.directory + "/log"
        let words =
            [
                "--port", "\(port)", "--bind", "127.0.0.1", "--daemonize", "no", "--save", "", "--appendonly", "no", "--dir", options.directory,
                "--logfile", "",
            ] + options.arguments
        let child = try await ChildProcess.start(
            Launch(
                try Programs.findRedis("redis-server"), arguments: words, environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"],
                deathSignal: .terminate, output: .append(to: log)))
        let ready = try await Readiness.poll(child, limit: .seconds(30)) { await isReady(port: port, pid: child.pid) }
        guard ready else {
            await child.stop(SIGKILL)
            throw LocalServerError(.startFailed, "Redis did not start; the end of \(log):\n\(LogTail.last(8, of: log))")
        }
        return child
    }

    /// Asks for the process id as well: if another process took the port, another Redis answers.
    private static func isReady(port: Int, pid: Int32) async -> Bool {
        let answer = await LoopbackExchange.ask(port: port, "INFO server\r\n", until: "executable:")
        return answer.contains("process_id:\(pid)\r\n")
    }
}
