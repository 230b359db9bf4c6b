// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster

/// Additional gateways of the system under test, configured to refuse requests that the others accept. Each is started
/// when a rule first needs it.
actor FurtherGateways {
    enum Kind: CaseIterable {
        /// A gateway with very low rate limits for sessions and addresses.
        case strict
        /// A gateway whose configured metadata service does not exist.
        case cutOff
    }

    private let strata: OperatorCommand
    private let trust: ServerTrust
    private var starting: [Kind: Task<[ProtocolVersion: ProtocolClient], any Error>] = [:]
    private var children: [ChildProcess] = []

    init(of strata: OperatorCommand, trust: ServerTrust) {
        self.strata = strata
        self.trust = trust
    }

    func client(_ kind: Kind, _ version: ProtocolVersion) async throws -> ProtocolClient {
        let task = starting[kind] ?? Task { try await start(kind) }
        starting[kind] = task
        guard let client = try await task.value[version] else { throw HarnessError("no client") }
        return client
    }

    private func start(_ kind: Kind) async throws -> [ProtocolVersion: ProtocolClient] {
        guard let data = FileManager.default.contents(atPath: strata.home + "/state.json") else {
            throw HarnessError("no state.json")
        }
        let gateway = try JSONValue(parsing: data)["processes"].array?.first { $0["name"].string == "gateway-1" }
        guard let pid = gateway?["pid"].int else { throw HarnessError("state.json names no gateway-1") }
        var environment = try Self.environment(of: pid)
        let ports = try LoopbackPort.free(4)
        environment["STRATA_INSTANCE"] = "gateway-\(kind)"
        environment["STRATA_ADMIN_PORT"] = "\(ports[0])"
        environment["STRATA_HTTP_PORT"] = "\(ports[1])"
        environment["STRATA_HTTPS_PORT"] = "\(ports[2])"
        switch kind {
        case .strict:
            environment["STRATA_RATE_LIMIT_SESSION"] = "0.05/3"
            environment["STRATA_RATE_LIMIT_ADDRESS"] = "1/40"
        case .cutOff: environment["STRATA_METADATA_ADDRESSES"] = "127.0.0.1:\(ports[3])"
        }
        let child = try await ChildProcess.start(
            Launch(
                try Executables.find("gateway"), arguments: [], environment: environment, deathSignal: .terminate,
                output: .append(to: strata.home + "/gateway-\(kind).log")))
        children.append(child)
        let url = "https://127.0.0.1:\(ports[2])"
        let clients = try Dictionary(
            uniqueKeysWithValues: ProtocolVersion.allCases.map {
                ($0, try ProtocolClient(baseURL: url, version: $0, trust: trust))
            })
        // Poll, because the gateway sends no signal when it is ready.
        while child.isRunning {
            if let answer = try? await clients[.v3]?.call("HEAD", "/ping", deadline: .now + .seconds(5)),
                answer.isSuccess
            {
                return clients
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw HarnessError(
            "the gateway did not come up:\n\(LogTail.last(20, of: strata.home + "/gateway-\(kind).log"))")
    }

    private static func environment(of pid: Int) throws -> [String: String] {
        let data = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/environ"))
        return data.split(separator: 0)
            .reduce(into: [:]) { environment, entry in
                let pair = String(decoding: entry, as: UTF8.self)
                    .split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if pair.count == 2 { environment[String(pair[0])] = String(pair[1]) }
            }
    }
}

extension TestedSystem {
    /// Runs SQL as the database's owner, to simulate the passage of time.
    /// - Returns: False if this system's database is not accessible.
    func sql(_ text: String) async throws -> Bool {
        guard let strata, let data = FileManager.default.contents(atPath: strata.home + "/state.json"),
            let url = try JSONValue(parsing: data)["databaseURL"].string
        else { return false }
        let exit = try await ChildProcess.run(
            Launch(
                try Programs.findPostgres("psql"), arguments: ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, url]))
        guard exit.isSuccess else { throw HarnessError("psql: \(exit.output)") }
        return true
    }
}
