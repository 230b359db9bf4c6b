// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import ProtocolClient
import TestCluster
import TestSupport

/// The system under test: started for the rules, or already running.
struct TestedSystem: Sendable {
    /// The HTTPS base URL of each gateway.
    let urls: [String]
    /// The prefix of URLs inside objects.
    let publicURL: String
    let app: TestedApp
    /// A second app, isolated from the first. nil for a system that this run did not start.
    let otherApp: TestedApp?
    let strangeKey: TokenMaker
    /// The operator's command; nil if unavailable for this system.
    let strata: OperatorCommand?
    /// Additional, stricter gateways; nil for a system that this run did not start.
    let furtherGateways: FurtherGateways?
    private let clients: [ProtocolVersion: [ProtocolClient]]

    static func shared() async throws -> TestedSystem { try await starting.value }

    private static let starting = Task {
        let environment = ProcessInfo.processInfo.environment
        if let urls = environment["STRATA_CONFORMANCE_URL"] { return try await running(at: urls, environment) }
        return try await start()
    }

    private init(
        urls: [String], publicURL: String, app: TestedApp, otherApp: TestedApp?, strata: OperatorCommand?,
        trust: ServerTrust
    ) throws {
        self.urls = urls
        self.publicURL = publicURL
        self.app = app
        self.otherApp = otherApp
        self.strata = strata
        furtherGateways = strata.map { FurtherGateways(of: $0, trust: trust) }
        strangeKey = try TokenMaker()
        clients = try Dictionary(
            uniqueKeysWithValues: ProtocolVersion.allCases.map { version in
                (version, try urls.map { try ProtocolClient(baseURL: $0, version: version, trust: trust) })
            })
    }

    func client(_ gateway: Int = 0, _ version: ProtocolVersion) -> ProtocolClient {
        let all = clients[version] ?? []
        return all[gateway % all.count]
    }

    // MARK: Starting

    private static func start() async throws -> TestedSystem {
        let home = try TestDirectory.make("conformance")
        let strata = OperatorCommand(program: try Executables.find("strata"), home: home)
        let ports = try LoopbackPort.free(2)
        let child = try await ChildProcess.start(
            Launch(
                strata.program,
                arguments: ["dev", "--gateways", "2", "--http-port", "\(ports[0])", "--https-port", "\(ports[1])"],
                environment: strata.environment.merging(["STRATA_CONSOLE": "false"]) { $1 }
                    .merging(Cluster.patient) { $1 }, deathSignal: .terminate,
                output: .append(to: home + "/dev.log")))
        EndsWithProcess.add(child)
        let state = try await state(in: home, of: child)
        let urls = (state["httpsURLs"].array ?? []).compactMap(\.string)
        guard urls.count == 2, let publicURL = state["publicURL"].string, let certificate = state["certificate"].string
        else {
            throw HarnessError("state.json is not as expected: \(state)")
        }
        return try TestedSystem(
            urls: urls, publicURL: publicURL, app: try await strata.createApp(), otherApp: try await strata.createApp(),
            strata: strata,
            trust: .roots(pem: try String(contentsOfFile: certificate, encoding: .utf8)))
    }

    /// Polls for the state file, which `strata dev` writes when it is ready. There is no signal for it.
    private static func state(in home: String, of child: ChildProcess) async throws -> JSONValue {
        let deadline = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < deadline, child.isRunning {
            if let data = FileManager.default.contents(atPath: home + "/state.json"),
                let state = try? JSONValue(parsing: data)
            {
                return state
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw HarnessError("strata dev did not come up:\n\(LogTail.last(20, of: home + "/dev.log"))")
    }

    private static func running(at urls: String, _ environment: [String: String]) async throws -> TestedSystem {
        guard let file = environment["STRATA_CONFORMANCE_APP"], let data = FileManager.default.contents(atPath: file)
        else {
            throw HarnessError("STRATA_CONFORMANCE_APP must name a file with what `strata app create --json` printed")
        }
        let pem = try environment["STRATA_CONFORMANCE_CA"].map { try String(contentsOfFile: $0, encoding: .utf8) }
        let bases = urls.split(separator: ",").map(String.init)
        let strata = try environment["STRATA_CONFORMANCE_HOME"]
            .map { OperatorCommand(program: try Executables.find("strata"), home: $0) }
        return try TestedSystem(
            urls: bases, publicURL: bases[0], app: try TestedApp(json: try JSONValue(parsing: data)),
            otherApp: try await strata?.createApp(), strata: strata, trust: pem.map { .roots(pem: $0) } ?? .system)
    }
}

struct OperatorCommand: Sendable {
    let program: String
    let home: String

    var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("STRATA_") }
            .merging(["STRATA_HOME": home]) { $1 }
    }

    /// Runs the command to its end.
    /// - Returns: The output.
    @discardableResult
    func run(_ words: String...) async throws -> String { try await run(words: words) }

    @discardableResult
    func run(words: [String]) async throws -> String {
        let exit = try await ChildProcess.run(Launch(program, arguments: words, environment: environment))
        guard exit.isSuccess else { throw HarnessError("strata \(words.joined(separator: " ")): \(exit.output)") }
        return exit.output
    }

    func createApp() async throws -> TestedApp {
        try TestedApp(json: try JSONValue(parsing: try await run("app", "create", "--json", "--name", "Conformance")))
    }
}

/// Terminates the system when this process exits, and waits for it, because the home directory is removed right after.
private enum EndsWithProcess {
    static func add(_ child: ChildProcess) {
        ended = child
        atexit {
            guard let child = EndsWithProcess.ended else { return }
            child.signal(SIGTERM)
            for _ in 0..<1500 where child.isRunning { usleep(10_000) }
        }
    }

    // Written once, before the handler that reads it is registered.
    private nonisolated(unsafe) static var ended: ChildProcess?
}
