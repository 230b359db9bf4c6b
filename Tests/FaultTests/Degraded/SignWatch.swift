// SPDX-License-Identifier: Apache-2.0

import TestCluster
import TestTiers
import Testing

/// Observes the metrics and logs of one state. Must be created before the state begins.
struct SignWatch {
    private let state: DegradedState
    private let cluster: Cluster
    private let gone: [Int]
    private let back: [Int]
    private let noise: [Int]

    /// The maximum number of warning lines of any process during an outage. Some of them concern dependent processes.
    private static let mostLines = 12

    init(_ state: DegradedState, _ cluster: Cluster) {
        self.state = state
        self.cluster = cluster
        gone = state.signs.map { Self.count($0.lines.gone, $0, cluster) }
        back = state.signs.map { Self.count($0.lines.back, $0, cluster) }
        noise = cluster.processes.map(Self.noise)
    }

    func gone() async throws {
        for (sign, before) in zip(state.signs, gone) {
            try await eventually("\(state.title): \(sign.process.rawValue) says so in its metrics") {
                try await isUp(sign) == false
            }
            try await eventually("\(state.title): and in its log") {
                Self.count(sign.lines.gone, sign, cluster) - before >= sign.count.lowerBound
            }
        }
    }

    /// Waits until metrics and logs report the recovery, each exactly once.
    func back() async throws {
        for ((sign, goneBefore), backBefore) in zip(zip(state.signs, gone), back) {
            try await eventually("\(state.title): \(sign.process.rawValue) says that it is back") {
                try await isUp(sign)
            }
            try await eventually("\(state.title): and in its log, once for each time it said that it was away") {
                Self.count(sign.lines.back, sign, cluster) - backBefore == Self.count(sign.lines.gone, sign, cluster)
                    - goneBefore
            }
            let lines = Self.count(sign.lines.gone, sign, cluster) - goneBefore
            #expect(count(of: sign).contains(lines), "\(state.title): \(sign.process.rawValue) said so \(lines) times")
        }
    }

    func checkNoise() {
        for (process, before) in zip(cluster.processes, noise) {
            let lines = Self.noise(process) - before
            #expect(lines <= Self.mostLines * databases, "\(state.title): \(lines) lines of \(process.name)")
        }
    }

    private var databases: Int { cluster.databases.names.count }

    /// Returns the allowed number of lines. Each of several databases has pools and subscriptions of its own, and one
    /// pool more, which reads where apps live.
    private func count(of sign: DegradedState.Sign) -> ClosedRange<Int> {
        guard databases > 1, ["postgres", "redis"].contains(sign.dependency) else { return sign.count }
        return sign.count.lowerBound...(sign.count.upperBound + 1) * databases
    }

    /// Returns true if all series of the dependency report that it is up. Each pool or use has its own series.
    private func isUp(_ sign: DegradedState.Sign) async throws -> Bool {
        let process = cluster.instances(of: sign.process)[0]
        return try await process.series("strata_process_dependency_up", "dependency=\"\(sign.dependency)\"")
            .allSatisfy { $0 == 1 }
    }

    private static func count(_ text: String, _ sign: DegradedState.Sign, _ cluster: Cluster) -> Int {
        cluster.instances(of: sign.process)[0].lines(containing: text).count
    }

    private static func noise(_ process: ServiceProcess) -> Int {
        ["warning", "error", "critical"].reduce(0) { $0 + process.lines(containing: "\"level\":\"\($1)\"").count }
    }
}
