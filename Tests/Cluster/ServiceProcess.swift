// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient

/// One instance of a service that a test can kill, suspend and restart on the same ports.
package actor ServiceProcess {
    package enum Kind: String, CaseIterable, Sendable {
        case conversations, metadata, presence, webhooks, gateway
    }

    package nonisolated let kind: Kind
    package nonisolated let name: String
    package nonisolated let log: String
    package nonisolated let host: VirtualNetwork.Host?
    package nonisolated let clock: MovableClock?
    /// The port for clients (gateway) or for RPC calls (other services).
    package nonisolated let port: Int
    /// The port of health and metrics.
    package nonisolated let adminPort: Int
    package nonisolated let environment: [String: String]
    private let launch: Launch
    private let admin: ProtocolClient
    private var child: ChildProcess?

    /// - Parameters:
    ///   - openFiles: The limit of open files. nil: that of this process.
    ///   - host: The host of the process. nil: this machine itself.
    ///   - clock: The process's wall clock, if it has its own.
    package init(
        kind: Kind, name: String, directory: String, adminPort: Int, environment: [String: String],
        openFiles: Int? = nil,
        host: VirtualNetwork.Host? = nil, clock: MovableClock? = nil
    ) throws {
        self.kind = kind
        self.name = name
        self.host = host
        self.clock = clock
        log = "\(directory)/\(name).log"
        self.environment = environment
        port = environment[kind == .gateway ? "STRATA_HTTP_PORT" : "STRATA_RPC_PORT"].flatMap { Int($0) } ?? 0
        self.adminPort = adminPort
        var words = host?.prefix ?? []
        // The shell sets both the soft and the hard limit, and then becomes the program.
        if let openFiles { words += ["/bin/sh", "-c", "ulimit -n \(openFiles) && exec \"$@\"", "sh"] }
        words += (clock?.wrapper ?? []) + [try Executables.find(kind.rawValue)]
        launch = Launch(
            words[0], arguments: Array(words.dropFirst()), environment: environment, deathSignal: .kill,
            output: .append(to: log))
        admin = try ProtocolClient(baseURL: "http://\(host?.address.description ?? "127.0.0.1"):\(adminPort)")
    }

    /// Starts the process and waits until it is ready.
    package func start() async throws {
        let child = try await ChildProcess.start(launch)
        self.child = child
        try await awaitReady()
    }

    /// Polls until the process is ready, because it sends no signal of it.
    package func awaitReady() async throws {
        let deadline = ContinuousClock.now + Waiting.limit
        while ContinuousClock.now < deadline {
            if let answer = try? await admin.call("GET", "/health/ready", deadline: .now + .seconds(5)),
                answer.status == 200
            {
                return
            }
            guard child?.isRunning == true else { break }
            try await Task.sleep(for: .milliseconds(25))
        }
        throw NotReady(name: name, exit: child?.exit?.status, log: LogTail.crash(in: log) ?? LogTail.last(12, of: log))
    }

    /// Kills the process with `SIGKILL`, and waits for its end.
    package func kill() async {
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    /// Suspends the process, so that it neither answers nor closes connections.
    package func suspend() { child?.signal(SIGSTOP) }

    /// Resumes the process after ``suspend()``.
    package func resume() { child?.signal(SIGCONT) }

    /// Asks the process to end and waits for it. It can be restarted.
    package func end() async {
        child?.signal(SIGCONT)
        await child?.stop(patience: .seconds(10))
    }

    /// Ends the process permanently.
    package func stop() async {
        await end()
        try? await admin.shutdown()
    }

    /// Lowers the limit of open files to `more` above the present use. nil: restores the hard limit, to which processes
    /// of Strata raise it.
    package func limitFiles(to more: Int?) async throws {
        guard let child, child.isRunning else { return }
        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child.pid)/fd").compactMap { Int($0) }
        // The limit applies to the highest descriptor number, not to the number of descriptors.
        let limit = try more.map { "\((files.max() ?? 0) + 1 + $0)" } ?? hardFileLimit(of: child.pid)
        let words = ["--pid", "\(child.pid)", "--nofile=\(limit):"]
        let exit = try await ChildProcess.run(
            Launch(try Programs.find("prlimit"), arguments: words, output: .capture(limit: 4096)))
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "prlimit: \(exit.output)") }
    }

    private func hardFileLimit(of pid: Int32) throws -> String {
        let lines = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8).split(separator: "\n")
        let words = lines.first { $0.hasPrefix("Max open files") }?.split(separator: " ") ?? []
        guard words.count > 4 else { throw LocalServerError(.commandFailed, "no limit of open files is to be seen") }
        return String(words[4])
    }

    /// The id of the running process; nil if it has ended.
    package var pid: Int32? { child.flatMap { $0.isRunning ? $0.pid : nil } }

    /// Returns the HTTP status of `/health/live` or `/health/ready`.
    package func health(_ path: String) async throws -> Int {
        try await admin.call("GET", path, deadline: Waiting.deadline).status
    }

    /// Returns the values of a metric's series that have all given labels, written as `name="value"`.
    package func series(_ name: String, _ labels: String...) async throws -> [Double] { try await values(name, labels) }

    /// Returns the sum of the values of ``series(_:_:)``.
    package func metric(_ name: String, _ labels: String...) async throws -> Double {
        try await values(name, labels).reduce(0, +)
    }

    private func values(_ name: String, _ labels: [String]) async throws -> [Double] {
        let answer = try await admin.call("GET", "/metrics", deadline: Waiting.deadline)
        return String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
            .compactMap { line in
                guard line.hasPrefix(name), let next = line.dropFirst(name.count).first, next == " " || next == "{"
                else { return nil }
                guard labels.allSatisfy({ line.contains($0) }) else { return nil }
                return line.split(separator: " ").last.flatMap { Double($0) }
            }
    }

    package nonisolated func lines(containing text: String) -> [String] {
        let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return output.split(separator: "\n").filter { $0.contains(text) }.map(String.init)
    }

    package var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
}

package struct NotReady: Error, CustomStringConvertible {
    package let name: String
    /// The exit status, if the service has ended.
    package let exit: Int32?
    package let log: String

    package var description: String {
        "\(name) did not become ready (\(exit.map { "it ended with status \($0)" } ?? "it runs")); from its log:\n\(log)"
    }
}

/// The time limit of tests. It is generous because the machine may be busy, and promises no speed.
package enum Waiting {
    package static let limit = Duration.seconds(60)

    package static var deadline: ContinuousClock.Instant { .now + limit }
}
