// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient

/// One instance of a service, which a test may kill, stop where it is, and start again on the same ports.
package actor ServiceProcess {
    package enum Kind: String, CaseIterable, Sendable {
        case conversations, metadata, presence, webhooks, gateway
    }

    package nonisolated let kind: Kind
    package nonisolated let name: String
    package nonisolated let log: String
    package nonisolated let host: VirtualNetwork.Host?
    package nonisolated let clock: MovableClock?
    /// Where it serves: clients if it is a gateway, other services otherwise.
    package nonisolated let port: Int
    /// Where health and metrics are asked.
    package nonisolated let adminPort: Int
    /// All its settings.
    package nonisolated let environment: [String: String]
    private let launch: Launch
    private let admin: ProtocolClient
    private var child: ChildProcess?

    /// - Parameters:
    ///   - openFiles: the most files it may have open; nil: as many as this process.
    ///   - host: where it runs; nil is this machine itself.
    ///   - clock: its own wall clock, if it has one.
    package init(
        kind: Kind, name: String, directory: String, adminPort: Int, environment: [String: String], openFiles: Int? = nil,
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
        // The shell sets both limits, and becomes the program.
        if let openFiles { words += ["/bin/sh", "-c", "ulimit -n \(openFiles) && exec \"$@\"", "sh"] }
        words += (clock?.wrapper ?? []) + [try Executables.find(kind.rawValue)]
        launch = Launch(words[0], arguments: Array(words.dropFirst()), environment: environment, deathSignal: .kill, output: .append(to: log))
        admin = try ProtocolClient(baseURL: "http://\(host?.address.description ?? "127.0.0.1"):\(adminPort)")
    }

    /// Starts it and waits until it says that it is ready.
    package func start() async throws {
        let child = try await ChildProcess.start(launch)
        self.child = child
        try await awaitReady()
    }

    /// Asks until it is ready. The process sends no signal of it, so this has to poll.
    package func awaitReady() async throws {
        let deadline = ContinuousClock.now + Waiting.limit
        while ContinuousClock.now < deadline {
            if let answer = try? await admin.call("GET", "/health/ready", deadline: .now + .seconds(5)), answer.status == 200 { return }
            guard child?.isRunning == true else { break }
            try await Task.sleep(for: .milliseconds(25))
        }
        throw NotReady(name: name, exit: child?.exit?.status, log: LogTail.last(12, of: log))
    }

    /// `kill -9`, and waits for its end.
    package func kill() async {
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    /// Stops it where it is: it neither answers nor closes.
    package func suspend() { child?.signal(SIGSTOP) }

    /// Ends what ``suspend()`` began.
    package func resume() { child?.signal(SIGCONT) }

    /// Asks it to end, and waits until it has; it may be started again.
    package func end() async {
        child?.signal(SIGCONT)
        await child?.stop(patience: .seconds(10))
    }

    /// Asks it to end for good.
    package func stop() async {
        await end()
        try? await admin.shutdown()
    }

    /// Lowers the limit of open files to so many more than there are now; nil: sets it back to the hard limit, to which processes of Strata raise it.
    package func limitFiles(to more: Int?) async throws {
        guard let child, child.isRunning else { return }
        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child.pid)/fd").compactMap { Int($0) }
        // What counts is not how many there are but the greatest number among them.
        let limit = try more.map { "\((files.max() ?? 0) + 1 + $0)" } ?? hardFileLimit(of: child.pid)
        let words = ["--pid", "\(child.pid)", "--nofile=\(limit):"]
        let exit = try await ChildProcess.run(Launch(try Programs.find("prlimit"), arguments: words, output: .capture(limit: 4096)))
        guard exit.isSuccess else { throw LocalServerError(.commandFailed, "prlimit: \(exit.output)") }
    }

    private func hardFileLimit(of pid: Int32) throws -> String {
        let lines = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8).split(separator: "\n")
        let words = lines.first { $0.hasPrefix("Max open files") }?.split(separator: " ") ?? []
        guard words.count > 4 else { throw LocalServerError(.commandFailed, "no limit of open files is to be seen") }
        return String(words[4])
    }

    /// Of the running process; nil if it has ended.
    package var pid: Int32? { child.flatMap { $0.isRunning ? $0.pid : nil } }

    /// What it says of itself at `/health/live` or `/health/ready`.
    package func health(_ path: String) async throws -> Int { try await admin.call("GET", path, deadline: Waiting.deadline).status }

    /// The values of a metric's series that have all of these labels, written as `name="value"`.
    package func series(_ name: String, _ labels: String...) async throws -> [Double] { try await values(name, labels) }

    /// The sum of them.
    package func metric(_ name: String, _ labels: String...) async throws -> Double { try await values(name, labels).reduce(0, +) }

    private func values(_ name: String, _ labels: [String]) async throws -> [Double] {
        let answer = try await admin.call("GET", "/metrics", deadline: Waiting.deadline)
        return String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
            .compactMap { line in
                guard line.hasPrefix(name), let next = line.dropFirst(name.count).first, next == " " || next == "{" else { return nil }
                guard labels.allSatisfy({ line.contains($0) }) else { return nil }
                return line.split(separator: " ").last.flatMap { Double($0) }
            }
    }

    /// Those of the lines it has written that contain this.
    package nonisolated func lines(containing text: String) -> [String] {
        let output = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return output.split(separator: "\n").filter { $0.contains(text) }.map(String.init)
    }

    /// All it has written.
    package var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
}

/// A service that did not come up.
package struct NotReady: Error, CustomStringConvertible {
    package let name: String
    /// Its status, if it has ended.
    package let exit: Int32?
    package let log: String

    package var description: String {
        "\(name) did not become ready (\(exit.map { "it ended with status \($0)" } ?? "it runs")); the end of its log:\n\(log)"
    }
}

/// How long tests wait for what has to happen. Not a promise of speed: the machine may be busy with many other things.
package enum Waiting {
    package static let limit = Duration.seconds(60)

    package static var deadline: ContinuousClock.Instant { .now + limit }
}
